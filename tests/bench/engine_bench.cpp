// Speed of the event engine on a 1F1B iteration of 3,072 ranks: 8 tensor x 64 stages x 6 replicas.
//   engine_bench [nic-sharing]     ranks that send over one NIC: 1 (default), 2, 4 or 8
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/critical_path.hpp"
#include "sim/ideal_network.hpp"
#include "sim/memory_trace.hpp"
#include "sim/simgrid_network.hpp"
#include "sim/simulate.hpp"
#include "strategies/task_graph.hpp"

namespace {

using namespace tsim;
using namespace tsim::literals;
using strategies::kNoTask;
using strategies::Phase;
using strategies::Stream;
using strategies::TaskId;
using strategies::TaskKind;

constexpr int kTensor = 8, kStages = 64, kReplicas = 6, kMicroBatches = 16;
constexpr int kRanks = kTensor * kStages * kReplicas;
constexpr int kBuckets = 4;  // of gradients
constexpr int kKernels = 8;  // computations of one phase of a micro-batch; all but the first follow
                             // an all-reduce

int rank_at(int replica, int stage, int lane) {
  return (replica * kStages + stage) * kTensor + lane;
}

/// The whole iteration, and the channels that it uses.
class Builder {
 public:
  explicit Builder(int nic_sharing) : nic_sharing_(nic_sharing) {
    for (int r = 0; r < kRanks; ++r) {
      builder_.graph.ranks.push_back(
          {.global = r, .device = r, .stage = r / kTensor % kStages, .resident = {}});
    }
    // Channels 4r..4r+3 of rank r: NVLink out and in, NIC out and in.
    for (int r = 0; r < kRanks; ++r) {
      for (const auto rate : {300_GBps, 300_GBps, 25_GBps, 25_GBps}) {
        channels.push_back({"", rate, cost::LinkKind::nvlink});
      }
    }
    builder_.graph.effects = {{{strategies::MemoryClass::activations, 1_MiB, {}}},
                              {{strategies::MemoryClass::activations, {}, {-(1 << 20)}}}};
    builder_.graph.computes = {{"forward", {400e-6}, {}, {}}, {"backward", {800e-6}, {}, {}}};
    add_all_reduces();
    add_messages();
  }

  strategies::TaskGraph build() {
    for (int replica = 0; replica < kReplicas; ++replica) { lay_pipeline(replica); }
    lay_gradient_rings();
    return std::move(builder_).finish();
  }

  std::vector<cost::Channel> channels;

 private:
  struct Op {
    bool forward;
    int micro_batch;
  };

  cost::ChannelId nic(int rank, int direction) const {
    return 4 * (rank / nic_sharing_ * nic_sharing_) + 2 + direction;
  }

  void add_all_reduces() {
    const double buffer = 2048.0 * 25600 * 2;
    for (int first = 0; first < kRanks; first += kTensor) {
      strategies::Comm comm{"tp all-reduce", "ring", Stream::tp, kTensor, {}, {70e-6}, {}};
      std::vector<std::uint32_t> group;
      for (int lane = 0; lane < kTensor; ++lane) {
        const int to = first + (lane + 1) % kTensor;
        comm.flows.push_back({{4 * (first + lane), 4 * to + 1}, buffer * 2 * 7 / 8});
        group.push_back(static_cast<std::uint32_t>(first + lane));
      }
      builder_.graph.comms.push_back(comm);
      builder_.graph.groups.push_back(group);
    }
  }

  /// For each rank: the message to the next stage, then the one to the stage before.
  void add_messages() {
    message_base_ = static_cast<std::uint32_t>(builder_.graph.comms.size());
    for (int r = 0; r < kRanks; ++r) {
      for (const int way : {kTensor, -kTensor}) {
        const int to = (r + way + kRanks) % kRanks;
        const double bytes = 2048.0 * 25600 * 2 / kTensor;
        builder_.graph.comms.push_back(
            {"pp message", "send", Stream::pp, 2, {}, {8e-6}, {{{nic(r, 0), nic(to, 1)}, bytes}}});
        builder_.graph.groups.push_back(
            {static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(to)});
      }
    }
  }

  static std::vector<Op> one_f_one_b(int stage) {
    std::vector<Op> ops;
    const int warmup = std::min(kStages - 1 - stage, kMicroBatches);
    for (int i = 0; i < kMicroBatches + warmup; ++i) {
      if (i < kMicroBatches) { ops.push_back({true, i}); }
      if (i >= warmup) { ops.push_back({false, i - warmup}); }
    }
    return ops;
  }

  struct Ends {
    TaskId begin = kNoTask, end = kNoTask;
  };

  static std::size_t index(int stage, int lane, Op op) {
    return static_cast<std::size_t>(
        ((stage * kTensor + lane) * 2 + (op.forward ? 0 : 1)) * kMicroBatches + op.micro_batch);
  }

  void lay_pipeline(int replica) {
    std::vector<Ends> ends(index(kStages, 0, {true, 0}));  // first and last computation of every op
    for (int stage = 0; stage < kStages; ++stage) { lay_stage(replica, stage, ends); }
    for (int stage = 0; stage + 1 < kStages; ++stage) {
      for (int lane = 0; lane < kTensor; ++lane) {
        lay_messages(replica, lane, {stage, stage + 1}, ends);
        lay_messages(replica, lane, {stage + 1, stage}, ends);
      }
    }
  }

  void lay_stage(int replica, int stage, std::vector<Ends>& ends) {
    std::vector<TaskId> last(kTensor, kNoTask);
    TaskId last_reduce = kNoTask;
    for (const Op op : one_f_one_b(stage)) {
      for (int kernel = 0; kernel < kKernels; ++kernel) {
        const TaskId reduce = kernel == 0 ? kNoTask : add_reduce(replica, stage, op, last);
        builder_.edge(last_reduce, reduce);
        last_reduce = reduce == kNoTask ? last_reduce : reduce;
        for (int lane = 0; lane < kTensor; ++lane) {
          TaskId& before = last[static_cast<std::size_t>(lane)];
          const TaskId t = add_compute(rank_at(replica, stage, lane), op);
          builder_.edge(before, t);
          builder_.edge(reduce, t);
          before = t;
          Ends& of_op = ends[index(stage, lane, op)];
          of_op = {kernel == 0 ? t : of_op.begin, t};
        }
      }
    }
    for (int lane = 0; lane < kTensor; ++lane) {
      last_[static_cast<std::size_t>(rank_at(replica, stage, lane))] =
          last[static_cast<std::size_t>(lane)];
    }
  }

  /// Messages of one direction between two stages (from, to), each after the one before.
  void lay_messages(int replica, int lane, std::pair<int, int> stages,
                    const std::vector<Ends>& ends) {
    const auto [from, to] = stages;
    TaskId before = kNoTask;
    for (int m = 0; m < kMicroBatches; ++m) {
      const bool forward = to > from;
      const TaskId t = add_message(rank_at(replica, from, lane), forward, m);
      builder_.edge(ends[index(from, lane, {forward, m})].end, t);
      builder_.edge(t, ends[index(to, lane, {forward, m})].begin);
      builder_.edge(before, t);
      before = t;
    }
  }

  /// Gradients of each stage and lane: rings over the replicas, a bucket after the other.
  void lay_gradient_rings() {
    for (int place = 0; place < kTensor * kStages; ++place) {
      strategies::Comm comm{"dp all-reduce", "ring", Stream::dp, kReplicas, {}, {50e-6}, {}};
      std::vector<std::uint32_t> group;
      strategies::Task task;
      task.work = static_cast<std::uint32_t>(builder_.graph.comms.size());
      task.place = static_cast<std::uint32_t>(builder_.graph.groups.size());
      task.kind = TaskKind::comm;
      task.phase = Phase::gradient_sync;
      task.stream = Stream::dp;
      TaskId before = kNoTask;
      for (int bucket = 0; bucket < kBuckets; ++bucket) {
        const TaskId t = builder_.add(task);
        builder_.edge(before, t);
        before = t;
        for (int replica = 0; replica < kReplicas; ++replica) {
          builder_.edge(last_[static_cast<std::size_t>(rank_at(replica, 0, place))], t);
        }
      }
      for (int replica = 0; replica < kReplicas; ++replica) {
        const int from = rank_at(replica, 0, place);
        const int to = rank_at((replica + 1) % kReplicas, 0, place);
        comm.flows.push_back({{nic(from, 0), nic(to, 1)}, 50e6 * 2 * 5 / 6});
        group.push_back(static_cast<std::uint32_t>(from));
      }
      builder_.graph.comms.push_back(comm);
      builder_.graph.groups.push_back(group);
    }
  }

  TaskId add_compute(int rank, Op op) {
    strategies::Task task;
    task.work = op.forward ? 0 : 1;
    task.effect = task.work;
    task.place = static_cast<std::uint32_t>(rank);
    task.micro_batch = op.micro_batch;
    task.phase = op.forward ? Phase::forward : Phase::backward;
    return builder_.add(task);
  }

  TaskId add_reduce(int replica, int stage, Op op, const std::vector<TaskId>& after) {
    strategies::Task task;
    task.work = static_cast<std::uint32_t>(replica * kStages + stage);
    task.place = task.work;
    task.micro_batch = op.micro_batch;
    task.kind = TaskKind::comm;
    task.stream = Stream::tp;
    const TaskId t = builder_.add(task);
    for (const TaskId before : after) { builder_.edge(before, t); }
    return t;
  }

  TaskId add_message(int from, bool forward, int micro_batch) {
    strategies::Task task;
    task.work = message_base_ + static_cast<std::uint32_t>(2 * from + (forward ? 0 : 1));
    task.place = task.work;
    task.micro_batch = micro_batch;
    task.kind = TaskKind::comm;
    task.phase = Phase::transfer;
    task.stream = Stream::pp;
    return builder_.add(task);
  }

  int nic_sharing_;
  strategies::TaskGraphBuilder builder_;
  std::uint32_t message_base_ = 0;
  std::vector<TaskId> last_ = std::vector<TaskId>(kRanks, kNoTask);  // computation, by rank
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_megabytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // ru_maxrss is in KiB on Linux
}

/// FNV-1a over the bytes of the times: the same in every process, or the engine is not
/// deterministic.
unsigned long long digest(const std::vector<double>& times) {
  unsigned long long hash = 14695981039346656037ull;
  for (const double time : times) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(time)) * 1099511628211ull;
  }
  return hash;
}

/// Processor time of this process and of its ended children: unlike wall time, the same on a busy
/// machine.
double processor_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    }
  }
  return sum;
}

template <class Run>
sim::Timeline time_run(const char* name, const strategies::TaskGraph& graph, Run run) {
  const auto start = std::chrono::steady_clock::now();
  const double processor_start = processor_seconds();
  const sim::Timeline timeline = run();
  const double took = seconds_since(start);
  std::printf("%-20s %6.3f s (processor %6.3f s) %9.0f tasks/s, makespan %.9f s, times %016llx\n",
              name, took, processor_seconds() - processor_start,
              static_cast<double>(graph.tasks.size()) / took, timeline.makespan.value,
              digest(timeline.end));
  return timeline;
}

}  // namespace

int main(int argc, char** argv) {
  const int nic_sharing = argc > 1 ? std::atoi(argv[1]) : 1;
  if (nic_sharing < 1 || kTensor % nic_sharing != 0) {
    std::fputs("engine_bench: expected 1, 2, 4 or 8 ranks to a NIC\n", stderr);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  Builder builder(nic_sharing);
  const strategies::TaskGraph graph = builder.build();
  std::printf("%zu tasks, %zu edges, %d ranks, built in %.3f s, peak RSS %.0f MiB\n",
              graph.tasks.size(), graph.successor.size(), kRanks, seconds_since(start),
              peak_megabytes(RUSAGE_SELF));
  time_run("ideal", graph, [&] {
    sim::IdealNetwork network(graph, builder.channels);
    return sim::replay(graph, network);
  });
  time_run("simgrid, own process", graph, [&] { return sim::simulate(graph, builder.channels); });
  std::printf("peak RSS of that process %.0f MiB\n", peak_megabytes(RUSAGE_CHILDREN));
  const sim::Timeline times = time_run("simgrid, in process", graph, [&] {
    sim::SimGridNetwork network(graph, builder.channels);
    auto timeline = sim::replay(graph, network);
    std::printf("%llu flows shared\n", static_cast<unsigned long long>(network.flows_shared()));
    return timeline;
  });
  auto begin = std::chrono::steady_clock::now();
  const auto path = sim::critical_path(graph, times);
  std::printf("critical path of %zu tasks found in %.3f s\n", path.tasks.size(),
              seconds_since(begin));
  begin = std::chrono::steady_clock::now();
  const auto peaks = sim::memory_peaks(graph, times);
  std::printf("memory peaks of %zu ranks found in %.3f s\n", peaks.size(), seconds_since(begin));
  std::printf("peak RSS %.0f MiB\n", peak_megabytes(RUSAGE_SELF));
}
