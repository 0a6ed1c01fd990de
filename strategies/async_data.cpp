#include "strategies/async_data.hpp"

#include <algorithm>
#include <numeric>

#include "strategies/memory.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/phase_memory.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }
std::uint32_t count(const auto& list) { return static_cast<std::uint32_t>(list.size()); }

/// Whether all workers compute the same clock.
bool in_step(const AsyncData& a) {
  return a.mode == DataMode::bsp || (a.mode == DataMode::ssp && a.staleness == 0);
}

class AsyncBuilder {
 public:
  explicit AsyncBuilder(const AsyncInput& input)
      : input_(input),
        build_(input.build),
        strategy_(input.build.strategy),
        servers_(server_devices(strategy_)) {}

  AsyncRun build() && {
    make_ranks();
    nothing_ = add_compute({"all servers have stepped", {}, {}, {}});
    for (const Seconds step : input_.server_step) {
      steps_.push_back(add_compute({"optimizer", step, {}, {}}));
    }
    for (int w = 0; w < strategy_.data; ++w) { make_worker(w); }
    for (int clock = 0; clock < strategy_.async.iterations; ++clock) { run_clock(clock); }
    run_.graph = std::move(builder_).finish();
    return std::move(run_);
  }

 private:
  /// Indices in the graph of what a worker does.
  struct Worker {
    std::uint32_t pull = 0, push = 0;         // communications
    std::uint32_t group = 0;                  // itself and the servers
    std::uint32_t forward = 0, backward = 0;  // effects
  };

  bool beside() const { return strategy_.async.servers == 0; }

  const ChunkPlan& chunk_of(int worker) const {
    const auto kind = index(build_.topology.device_kind[index(worker)]);
    const auto& stages = build_.kinds.empty() ? build_.stages : build_.kinds[kind].stages;
    return stages.front().chunks.front();
  }

  void make_ranks() {
    const StagePlan& plan = build_.stages.front();
    const StateBytes states = states_of(plan, strategy_);
    const auto servers = static_cast<std::int64_t>(servers_.size());
    const Weights part = share_of({plan.elements, plan.shapes}, servers);
    // A server keeps the parameters that it hands out, and sums of gradients.
    const Bytes served = own_elements(part) * Bytes{size_of(kept_weights(strategy_.precision)) +
                                                    gradient_size(strategy_.precision)};
    const std::vector<MemoryChange> server{
        {MemoryClass::optimizer, optimizer_bytes(part, strategy_), {}},
        {MemoryClass::buffers, served, {}}};
    std::vector<MemoryChange> worker{{MemoryClass::parameters, states.parameters, {}},
                                     {MemoryClass::gradients, states.gradients, {}},
                                     {MemoryClass::reserved, build_.costs.reserved, {}}};
    if (beside()) { worker.insert(worker.end(), server.begin(), server.end()); }
    for (int w = 0; w < strategy_.data; ++w) {
      builder_.graph.ranks.push_back({.global = w, .device = w, .resident = worker});
    }
    for (std::size_t s = 0; s < servers_.size() && !beside(); ++s) {
      builder_.graph.ranks.push_back(
          {.global = servers_[s], .device = servers_[s], .stage = 1, .resident = server});
    }
    slow_ranks(builder_.graph, input_.slowdown);
  }

  std::uint32_t add_compute(Compute compute) {
    builder_.graph.computes.push_back(std::move(compute));
    return count(builder_.graph.computes) - 1;
  }

  std::uint32_t add_effect(PhaseMemory memory) {
    MemoryEffect all = std::move(memory.first);
    all.insert(all.end(), memory.last.begin(), memory.last.end());
    builder_.graph.effects.push_back(std::move(all));
    return count(builder_.graph.effects) - 1;
  }

  /// Servers are numbered like ranks: rank s on the workers' devices, or after them.
  void make_worker(int w) {
    const std::int64_t elements = build_.stages.front().elements;
    Worker worker;
    worker.pull = message(w, elements * Bytes{size_of(kept_weights(strategy_.precision))}, false);
    worker.push = message(w, elements * Bytes{size_of(strategy_.precision.reduction)}, true);
    std::vector<std::uint32_t> members{static_cast<std::uint32_t>(w)};
    for (const int server : servers_) {
      if (server != w) { members.push_back(static_cast<std::uint32_t>(server)); }
    }
    worker.group = count(builder_.graph.groups);
    builder_.graph.groups.push_back(std::move(members));
    worker.forward = add_effect(phase_memory(chunk_of(w), Which::forward, true));
    worker.backward = add_effect(phase_memory(chunk_of(w), Which::backward, true));
    workers_.push_back(worker);
    run_.pulled.emplace_back();
    run_.applied.emplace_back();
  }

  /// Between a worker and all servers at once, an equal part each.
  std::uint32_t message(int worker, Bytes payload, bool push) {
    Comm comm;
    comm.label = push ? "push of gradients" : "pull of parameters";
    comm.algorithm = "parameter_server";
    comm.stream = Stream::dp;
    comm.ranks = static_cast<std::int32_t>(servers_.size()) + (beside() ? 0 : 1);
    comm.payload = payload;
    const double part = to_double(payload) / static_cast<double>(servers_.size());
    for (const int server : servers_) {
      if (server == worker) { continue; }
      const cost::Path& path =
          push ? build_.router.path(worker, server) : build_.router.path(server, worker);
      comm.latency = std::max(comm.latency, path.latency);
      comm.flows.push_back({path.channels, part});
    }
    builder_.graph.comms.push_back(std::move(comm));
    return count(builder_.graph.comms) - 1;
  }

  TaskId send(std::uint32_t comm, int w, int clock, Phase phase) {
    return builder_.add({.work = comm,
                         .place = workers_[index(w)].group,
                         .micro_batch = clock,
                         .kind = TaskKind::comm,
                         .phase = phase,
                         .stream = Stream::dp});
  }

  TaskId compute(std::uint32_t work, int rank, Phase phase, const std::vector<TaskId>& after) {
    const TaskId id = builder_.add({.work = work,
                                    .place = static_cast<std::uint32_t>(rank),
                                    .kind = TaskKind::compute,
                                    .phase = phase,
                                    .stream = Stream::compute});
    for (const TaskId before : after) { builder_.edge(before, id); }
    return id;
  }

  std::uint32_t phase_work(const Program& program, double factor, Phase phase) {
    Compute work{
        "clock's " + std::string(name_of(phase)), factor * compute_time(program), {}, {}, {}};
    for (const Step& step : program.steps) {
      work.model_flops += step.model_flops;
      work.hardware_flops += step.hardware_flops;
    }
    return add_compute(std::move(work));
  }

  /// All micro-batches of a worker's clock after `pull`; the last task.
  TaskId compute_clock(int w, int clock, TaskId pull) {
    const double now = jitter_factor(input_.jitter, w, clock) / jitter_factor(input_.jitter, w, 0);
    const ChunkPlan& chunk = chunk_of(w);
    const std::uint32_t forward = phase_work(chunk.forward, now, Phase::forward);
    const std::uint32_t backward = phase_work(chunk.backward, now, Phase::backward);
    TaskId last = pull;
    const auto add = [&](std::uint32_t work, Phase phase, std::uint32_t effect, int micro_batch) {
      last = compute(work, w, phase, {last});
      builder_.graph.tasks[last].effect = effect;
      builder_.graph.tasks[last].micro_batch = micro_batch;
    };
    for (int m = 0; m < build_.micro_batches; ++m) {
      const int id = clock * build_.micro_batches + m;
      add(forward, Phase::forward, workers_[index(w)].forward, id);
      add(backward, Phase::backward, workers_[index(w)].backward, id);
    }
    return last;
  }

  /// The servers' steps after `pushes`; a task that comes after all of them.
  TaskId apply(const std::vector<TaskId>& pushes) {
    std::vector<TaskId> stepped;
    stepped.reserve(servers_.size());
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      stepped.push_back(compute(steps_[s], servers_[s], Phase::optimizer, pushes));
    }
    return compute(nothing_, servers_.front(), Phase::optimizer, stepped);
  }

  void run_clock(int clock) {
    const bool together = in_step(strategy_.async);
    std::vector<TaskId> ends;
    for (int w = 0; w < strategy_.data; ++w) {
      const TaskId pull = send(workers_[index(w)].pull, w, clock, Phase::parameter_sync);
      wait_for_others(pull, clock);
      if (clock > 0) { builder_.edge(run_.applied[index(w)].back(), pull); }
      const TaskId push = send(workers_[index(w)].push, w, clock, Phase::gradient_sync);
      builder_.edge(compute_clock(w, clock, pull), push);
      run_.pulled[index(w)].push_back(pull);
      ends.push_back(together ? push : apply({push}));
      if (!together) { run_.applied[index(w)].push_back(ends.back()); }
    }
    if (together) {
      ends = {apply(ends)};
      for (auto& applied : run_.applied) { applied.push_back(ends.front()); }
    }
    // One task that stands for all of them spares workers x workers edges.
    ended_.push_back(compute(nothing_, servers_.front(), Phase::optimizer, ends));
  }

  void wait_for_others(TaskId pull, int clock) {
    const AsyncData& a = strategy_.async;
    if (a.mode == DataMode::asp) { return; }
    const int before = clock - (in_step(a) ? 0 : a.staleness) - 1;
    if (before >= 0) { builder_.edge(ended_[index(before)], pull); }
  }

  const AsyncInput& input_;
  const BuildInput& build_;
  const Strategy& strategy_;
  std::vector<int> servers_;  // their devices, and ranks
  TaskGraphBuilder builder_;
  AsyncRun run_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> steps_;  // by server
  std::uint32_t nothing_ = 0;
  std::vector<TaskId> ended_;  // by clock: all workers' gradients have been applied
};

}  // namespace

AsyncRun build_async(const AsyncInput& input) { return AsyncBuilder(input).build(); }

std::vector<int> server_devices(const Strategy& strategy) {
  const int servers = strategy.async.servers;
  std::vector<int> devices(index(servers == 0 ? strategy.data : servers));
  std::iota(devices.begin(), devices.end(), servers == 0 ? 0 : strategy.data);
  return devices;
}

}  // namespace tsim::strategies
