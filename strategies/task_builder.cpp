#include "strategies/task_builder.hpp"

#include <algorithm>
#include <array>

#include "strategies/check_order.hpp"
#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Whether a micro-batch's tokens or labels come from the host.
bool reads_data(const ChunkPlan& chunk, Phase phase) {
  return phase == Phase::forward && (chunk.embedding || chunk.head);
}

std::string layers_label(const ChunkPlan& chunk) {
  if (chunk.layers == 0) { return chunk.embedding ? "embedding" : "head"; }
  const std::string first = std::to_string(chunk.first_layer);
  if (chunk.layers == 1) { return "layer " + first; }
  return "layers " + first + "-" + std::to_string(chunk.first_layer + chunk.layers - 1);
}

Seconds duration(const Program& program) { return compute_time(program); }

/// Costs that an order is made from: compute times of each chunk, and how activations weigh.
OrderCosts order_costs(const BuildInput& input, const PipelineShape& shape) {
  OrderCosts costs;
  costs.most_in_flight = input.strategy.most_in_flight;
  double kept = 0;
  double waiting = 0;
  costs.seats.resize(index(shape.stages * shape.chunks));
  for (int stage = 0; stage < shape.stages; ++stage) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const ChunkPlan& plan = input.stages[index(stage)].chunks[index(chunk)];
      const double weights = duration(plan.weight_grad).value;
      costs.seats[index(seat_index(shape, {stage, chunk}))] = {
          .forward = duration(plan.forward).value,
          .backward = duration(plan.input_grad).value + weights,
          .weight_grad = weights};
      kept += to_double(plan.activations);
      waiting += to_double(plan.weight_activations);
    }
  }
  if (kept > 0) { costs.weight_share = waiting / kept; }
  return costs;
}

/// Programs that an order runs: those of a backward in two parts only where it has some.
std::vector<Which> programs_of(const PipelineOrder& order) {
  std::vector<Which> used{Which::forward,       Which::first_forward,  Which::backward,
                          Which::last_backward, Which::first_backward, Which::only_backward};
  const bool split = std::any_of(order.begin(), order.end(), [](const StageOrder& stage) {
    return std::any_of(stage.begin(), stage.end(),
                       [](const Action& a) { return a.phase == Phase::weight_grad; });
  });
  if (split) {
    used.insert(used.end(), {Which::input_grad, Which::weight_grad, Which::last_weight_grad,
                             Which::first_weight_grad, Which::only_weight_grad});
  }
  return used;
}

}  // namespace

PipelineOrder iteration_order(const BuildInput& input) {
  const PipelineShape shape = shape_of(input.strategy, input.micro_batches);
  if (!input.training) { return forward_orders(shape); }
  return order_of(input.strategy, input.micro_batches, order_costs(input, shape));
}

TaskBuilder::TaskBuilder(const BuildInput& input)
    : input_(input),
      strategy_(input.strategy),
      layout_(input.strategy),
      replicas_(input.folded.data ? 1 : replica_count(input.strategy)),
      tensor_(input.folded.tensor ? 1 : input.strategy.tensor),
      shape_(shape_of(input.strategy, input.micro_batches)),
      order_(iteration_order(input)),
      meets_(input.strategy.batched_p2p && !find_deadlock(shape_, order_, true)),
      table_(input.topology, input.router, input.strategy),
      last_exits_(index(input.strategy.pipeline * replicas_)),
      buckets_(index(input.strategy.pipeline)) {
  const std::size_t slots = index(strategy_.pipeline * replicas_ * tensor_);
  const std::size_t messages =
      index(shape_.stages * shape_.chunks * replicas_) * index(input.micro_batches);
  for (int direction = 0; direction < 2; ++direction) {
    last_send_[index(direction)].assign(slots, kNoTask);
    entries_[index(direction)].resize(messages);
    sends_[index(direction)].assign(messages, kNoTask);
    if (meets_) { before_entry_[index(direction)].resize(messages); }
  }
  blocking_.resize(last_exits_.size());
  joined_.resize(last_exits_.size());
  last_sync_.assign(slots, kNoTask);
  embedding_sync_.assign(slots, kNoTask);
  optimizer_step_.assign(slots, kNoTask);
  table_.use(input.draws);
  host_pieces_.resize(slots);
}

TaskGraph TaskBuilder::build() && {
  make_ranks();
  resolve();
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    for (int replica = 0; replica < replicas_; ++replica) { run_schedule(stage, replica); }
  }
  connect_sends();
  if (input_.training) {
    for (int stage = 0; stage < strategy_.pipeline; ++stage) { reduce_gradients(stage); }
    for (int stage = 0; stage < strategy_.pipeline && !steps_each(strategy_); ++stage) {
      reduce_shared(stage);
    }
    reduce_embedding();
    add_norm();
    for (int stage = 0; stage < strategy_.pipeline && !steps_each(strategy_); ++stage) {
      step_optimizer(stage);
    }
  }
  return std::move(builder_).finish();
}

std::uint32_t TaskBuilder::kind_of(int stage, int replica, int tensor) const {
  if (kinds() == 1) { return 0; }
  const int rank = layout_.rank({tensor, replica, stage});
  const int kind = input_.topology.device_kind[index(rank)];
  const int variants = input_.rank_variants;
  return static_cast<std::uint32_t>(kind * variants +
                                    variant_of(strategy_, tensor, replica, variants));
}

const StagePlan& TaskBuilder::plan_on(std::size_t kind, int stage) const {
  return (input_.kinds.empty() ? input_.stages : input_.kinds[kind].stages)[index(stage)];
}

const RankCosts& TaskBuilder::costs_on(std::uint32_t kind) const {
  return input_.kinds.empty() ? input_.costs : input_.kinds[kind].costs;
}

void TaskBuilder::make_ranks() {
  const int copies = (input_.folded.data ? replica_count(strategy_) : 1) *
                     (input_.folded.tensor ? strategy_.tensor : 1);
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    const StagePlan& plan = input_.stages[index(stage)];
    const StateBytes states =
        states_on_device(states_of(plan, strategy_), strategy_, whole_elements(plan));
    Bytes buffers;  // one message in, one out
    if (strategy_.pipeline > 1) {
      for (const ChunkPlan& chunk : plan.chunks) {
        buffers = std::max(buffers, chunk.input + chunk.output);
      }
    }
    constexpr std::size_t kReserved = 2;
    const Bytes parameters = parameters_in(states, weight_versions(strategy_, stage));
    std::vector<MemoryChange> resident{{MemoryClass::parameters, parameters, {}},
                                       {MemoryClass::buffers, buffers, {}},
                                       {MemoryClass::reserved, {}, {}}};
    if (input_.training) {
      resident.push_back({MemoryClass::activations, kept_for_others(stage), {}});
      const Bytes made = made_gradients(plan);
      resident.push_back({MemoryClass::gradients, made.value > 0 ? Bytes{} : states.gradients, {}});
      resident.push_back({MemoryClass::optimizer, states.optimizer, {}});
    }
    for (int replica = 0; replica < replicas_; ++replica) {
      for (int tensor = 0; tensor < tensor_; ++tensor) {
        const int rank = layout_.rank({tensor, replica, stage});
        const RankCosts& costs = costs_on(kind_of(stage, replica, tensor));
        resident[kReserved].at_start = costs.reserved;
        builder_.graph.ranks.push_back({.global = rank,
                                        .device = rank,
                                        .stage = stage,
                                        .copies = copies,
                                        .resident = resident,
                                        .host_collective = costs.host_collective,
                                        .overlap_slowdown = costs.overlap_slowdown,
                                        .host_awaits_messages = strategy_.batched_p2p});
      }
    }
  }
}

std::uint32_t TaskBuilder::group(std::vector<std::uint32_t> slots) {
  const auto [at, added] = group_index_.try_emplace(
      std::move(slots), static_cast<std::uint32_t>(builder_.graph.groups.size()));
  if (added) { builder_.graph.groups.push_back(at->first); }
  return at->second;
}

void TaskBuilder::resolve() {
  resolved_.resize(index(shape_.stages * shape_.chunks * replicas_ * slices()));
  const std::vector<Which> used = programs_of(order_);
  for (int at = 0; at < shape_.stages * shape_.chunks; ++at) {
    const Seat seat{at % shape_.stages, at / shape_.stages};
    for (int replica = 0; replica < replicas_; ++replica) {
      for (int slice = 0; slice < slices(); ++slice) {
        for (const Which which : used) {
          program_at(seat, replica, slice, which) = resolve_program(seat, replica, which, slice);
        }
      }
    }
  }
}

const ChunkPlan& TaskBuilder::chunk_of(Seat seat, int slice) const {
  const auto& stages = input_.slices.empty() ? input_.stages : input_.slices[index(slice)];
  return stages[index(seat.stage)].chunks[index(seat.chunk)];
}

/// Replicas share the description of a compute step, or those of one kind of device do: kind k's is
/// the k-th from there on.
std::uint32_t TaskBuilder::compute_of(Seat place, Which which, int slice, std::size_t step) {
  const auto [at, added] =
      compute_index_.try_emplace({seat(place) * slices() + slice, which, step},
                                 static_cast<std::uint32_t>(builder_.graph.computes.size()));
  for (std::size_t kind = 0; added && kind < kinds(); ++kind) {
    const ChunkPlan& chunk = input_.slices.empty()
                                 ? plan_on(kind, place.stage).chunks[index(place.chunk)]
                                 : chunk_of(place, slice);
    const Program& program = program_of(chunk, which);
    const Step& s = program.steps[step];
    const bool waits =
        strategy_.host_waits && reads_data(chunk, s.phase) && step == first_compute(program);
    builder_.graph.computes.push_back({layers_label(chunk) + " " + std::string(name_of(s.phase)),
                                       s.duration, s.model_flops, s.hardware_flops, s.host, waits});
  }
  return at->second;
}

/// Allocations of a phase at the first compute step, releases at the end of the last one.
ResolvedProgram TaskBuilder::resolve_program(Seat seat, int replica, Which which, int slice) {
  const ChunkPlan& chunk = chunk_of(seat, slice);
  ResolvedProgram resolved;
  resolved.program = &program_of(chunk, which);
  const auto& steps = resolved.program->steps;
  resolved.steps.reserve(steps.size());
  std::size_t first = steps.size();
  std::size_t last = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].is_comm) {
      resolved.steps.push_back(resolve_comm(steps[i], seat.stage, replica));
      continue;
    }
    ResolvedStep& step = resolved.steps.emplace_back();
    step.work = {compute_of(seat, which, slice, i)};
    first = std::min(first, i);
    last = i;
  }
  PhaseMemory memory = phase_memory(chunk, which, input_.training);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    MemoryEffect changes = steps[i].memory;
    if (i == first) { changes.insert(changes.end(), memory.first.begin(), memory.first.end()); }
    if (i == last) { changes.insert(changes.end(), memory.last.begin(), memory.last.end()); }
    resolved.steps[i].effect = effect(std::move(changes));
  }
  return resolved;
}

Bytes made_gradients(const StagePlan& plan) {
  Bytes sum;
  for (const ChunkPlan& chunk : plan.chunks) { sum += chunk.gradients; }
  return sum;
}

std::uint32_t TaskBuilder::effect(MemoryEffect e) {
  std::erase_if(e,
                [](const MemoryChange& c) { return c.at_start.value == 0 && c.at_end.value == 0; });
  if (e.empty()) { return kNone; }
  builder_.graph.effects.push_back(std::move(e));
  return static_cast<std::uint32_t>(builder_.graph.effects.size() - 1);
}

RankCosts rank_costs(const cost::Device& device) {
  return {device.reserved, device.host_collective, device.overlap_slowdown};
}

std::uint32_t TaskBuilder::free_gradients(const StagePlan& plan) {
  return effect({{MemoryClass::gradients, {}, Bytes{} - made_gradients(plan)}});
}

TaskGraph build_tasks(const BuildInput& input) { return TaskBuilder(input).build(); }

}  // namespace tsim::strategies
