#include "strategies/task_builder.hpp"

#include <algorithm>
#include <cassert>

#include "strategies/memory.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

const Program& program_of(const ChunkPlan& chunk, Which which) {
  switch (which) {
    case Which::forward: return chunk.forward;
    case Which::backward: return chunk.backward;
    case Which::last_backward: return chunk.last_backward;
  }
  return chunk.forward;
}

std::string layers_label(const ChunkPlan& chunk) {
  const std::string first = std::to_string(chunk.first_layer);
  if (chunk.layers == 1) { return "layer " + first; }
  return "layers " + first + "-" + std::to_string(chunk.first_layer + chunk.layers - 1);
}

}  // namespace

TaskBuilder::TaskBuilder(const BuildInput& input)
    : input_(input),
      strategy_(input.strategy),
      layout_(input.strategy),
      data_(input.folded.data ? 1 : input.strategy.data),
      tensor_(input.folded.tensor ? 1 : input.strategy.tensor),
      parts_(input.strategy.pipeline * input.strategy.chunks),
      table_(input.topology, input.router, input.strategy.collective),
      last_exits_(index(input.strategy.pipeline * data_)),
      buckets_(index(input.strategy.pipeline)) {
  const std::size_t slots = index(strategy_.pipeline * data_ * tensor_);
  const std::size_t messages = index(parts_ * data_) * index(input.micro_batches);
  for (int direction = 0; direction < 2; ++direction) {
    last_send_[index(direction)].assign(slots, kNoTask);
    entries_[index(direction)].resize(messages);
    sends_[index(direction)].assign(messages, kNoTask);
  }
  last_sync_.assign(slots, kNoTask);
  embedding_sync_.assign(slots, kNoTask);
}

TaskGraph TaskBuilder::build() && {
  make_ranks();
  resolve();
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    for (int data = 0; data < data_; ++data) { run_schedule(stage, data); }
  }
  connect_sends();
  if (input_.training) {
    for (int stage = 0; stage < strategy_.pipeline; ++stage) { reduce_gradients(stage); }
    reduce_embedding();
    for (int stage = 0; stage < strategy_.pipeline; ++stage) { step_optimizer(stage); }
  }
  return std::move(builder_).finish();
}

std::uint32_t TaskBuilder::kind_of(int stage, int data, int tensor) const {
  if (kinds() == 1) { return 0; }
  const int rank = layout_.rank({tensor, data, stage});
  return static_cast<std::uint32_t>(input_.topology.device_kind[index(rank)]);
}

const StagePlan& TaskBuilder::plan_on(std::size_t kind, int stage) const {
  return (input_.kinds.empty() ? input_.stages : input_.kinds[kind].stages)[index(stage)];
}

Bytes TaskBuilder::reserved_on(std::uint32_t kind) const {
  return input_.kinds.empty() ? input_.reserved : input_.kinds[kind].reserved;
}

void TaskBuilder::make_ranks() {
  const int copies =
      (input_.folded.data ? strategy_.data : 1) * (input_.folded.tensor ? strategy_.tensor : 1);
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    const StagePlan& plan = input_.stages[index(stage)];
    const StateBytes states = state_bytes(plan.elements, strategy_);
    Bytes buffers;  // one message in, one out
    if (strategy_.pipeline > 1) {
      for (const ChunkPlan& chunk : plan.chunks) {
        buffers = std::max(buffers, chunk.input + chunk.output);
      }
    }
    constexpr std::size_t kReserved = 2;
    std::vector<MemoryChange> resident{{MemoryClass::parameters, states.parameters, {}},
                                       {MemoryClass::buffers, buffers, {}},
                                       {MemoryClass::reserved, {}, {}}};
    if (input_.training) {
      resident.push_back({MemoryClass::gradients, states.gradients, {}});
      resident.push_back({MemoryClass::optimizer, states.optimizer, {}});
    }
    for (int data = 0; data < data_; ++data) {
      std::vector<std::uint32_t> slots;
      for (int tensor = 0; tensor < tensor_; ++tensor) {
        const int rank = layout_.rank({tensor, data, stage});
        resident[kReserved].at_start = reserved_on(kind_of(stage, data, tensor));
        builder_.graph.ranks.push_back({rank, rank, stage, copies, resident});
        slots.push_back(static_cast<std::uint32_t>(slot(stage, data, tensor)));
      }
      tensor_group_.push_back(group(std::move(slots)));
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
  resolved_.resize(index(parts_ * data_));
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    for (int chunk = 0; chunk < strategy_.chunks; ++chunk) {
      for (int data = 0; data < data_; ++data) {
        auto& programs = resolved_[index(part(stage, chunk) * data_ + data)];
        for (const Which which : {Which::forward, Which::backward, Which::last_backward}) {
          programs[static_cast<std::size_t>(which)] = resolve_program(stage, data, chunk, which);
        }
      }
    }
  }
}

ResolvedProgram TaskBuilder::resolve_program(int stage, int data, int chunk_index, Which which) {
  const ChunkPlan& chunk = input_.stages[index(stage)].chunks[index(chunk_index)];
  ResolvedProgram resolved;
  resolved.program = &program_of(chunk, which);
  const auto& steps = resolved.program->steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.is_comm) {
      resolved.work.push_back(tensor_comm(step, stage, data));
      continue;
    }
    // Replicas share the description of a compute step, or those of one kind do: kind k's is the
    // k-th from there on.
    const auto [at, added] =
        compute_index_.try_emplace({part(stage, chunk_index), which, i},
                                   static_cast<std::uint32_t>(builder_.graph.computes.size()));
    for (std::size_t kind = 0; added && kind < kinds(); ++kind) {
      const ChunkPlan& on_kind = plan_on(kind, stage).chunks[index(chunk_index)];
      builder_.graph.computes.push_back(
          {layers_label(chunk) + " " + std::string(name_of(step.phase)),
           program_of(on_kind, which).steps[i].duration, step.model_flops, step.hardware_flops});
    }
    resolved.work.push_back(at->second);
  }
  add_effects(resolved, chunk, which);
  return resolved;
}

std::uint32_t TaskBuilder::effect(MemoryEffect e) {
  std::erase_if(e,
                [](const MemoryChange& c) { return c.at_start.value == 0 && c.at_end.value == 0; });
  if (e.empty()) { return kNone; }
  builder_.graph.effects.push_back(std::move(e));
  return static_cast<std::uint32_t>(builder_.graph.effects.size() - 1);
}

/// Allocations at the first compute step, releases at the end of the last one.
void TaskBuilder::add_effects(ResolvedProgram& resolved, const ChunkPlan& chunk, Which which) {
  const auto& steps = resolved.program->steps;
  resolved.effects.assign(steps.size(), kNone);
  const auto is_compute = [](const Step& s) { return !s.is_comm; };
  const auto first = std::find_if(steps.begin(), steps.end(), is_compute) - steps.begin();
  const auto last = steps.rend() - std::find_if(steps.rbegin(), steps.rend(), is_compute) - 1;
  const Bytes zero;
  const bool keeps = input_.training;
  MemoryEffect at_first;
  MemoryEffect at_last;
  if (which == Which::forward) {
    at_first = {{MemoryClass::activations, keeps ? chunk.activations : zero, zero},
                {MemoryClass::logits, keeps ? chunk.logits : zero, zero},
                {MemoryClass::workspace, chunk.forward_workspace, zero}};
    at_last = {{MemoryClass::workspace, zero, zero - chunk.forward_workspace}};
  } else {
    at_first = {{MemoryClass::workspace, chunk.backward_workspace, zero}};
    at_last = {{MemoryClass::workspace, zero, zero - chunk.backward_workspace},
               {MemoryClass::activations, zero, zero - chunk.activations},
               {MemoryClass::logits, zero, zero - chunk.logits}};
  }
  if (first == last) {
    at_first.insert(at_first.end(), at_last.begin(), at_last.end());
    resolved.effects[static_cast<std::size_t>(first)] = effect(std::move(at_first));
    return;
  }
  resolved.effects[static_cast<std::size_t>(first)] = effect(std::move(at_first));
  resolved.effects[static_cast<std::size_t>(last)] = effect(std::move(at_last));
}

/// One task for each tensor slot, or one for the group of a communication.
StepTasks TaskBuilder::add_step(const ResolvedProgram& resolved, std::size_t step_index,
                                int replica, const Action& action) {
  const Step& step = resolved.program->steps[step_index];
  Task task{.work = resolved.work[step_index],
            .place = tensor_group_[index(replica)],
            .micro_batch = action.micro_batch,
            .effect = resolved.effects[step_index],
            .chunk = static_cast<std::int16_t>(action.chunk),
            .kind = TaskKind::comm,
            .phase = step.phase,
            .stream = Stream::tp};
  if (step.is_comm) { return {builder_.add(task), true}; }
  task.kind = TaskKind::compute;
  task.stream = Stream::compute;
  StepTasks tasks;
  for (int t = 0; t < tensor_; ++t) {
    task.place = static_cast<std::uint32_t>(replica * tensor_ + t);
    task.work = resolved.work[step_index] + kind_of(replica / data_, replica % data_, t);
    const TaskId id = builder_.add(task);
    if (t == 0) { tasks.base = id; }
  }
  return tasks;
}

void TaskBuilder::chain(const std::vector<StepTasks>& before, const StepTasks& after) {
  for (const StepTasks& b : before) {
    const int edges = b.shared && after.shared ? 1 : tensor_;
    for (int t = 0; t < edges; ++t) { builder_.edge(b.at(t), after.at(t)); }
  }
}

Stamped TaskBuilder::stamp(const ResolvedProgram& resolved, int stage, int data,
                           const Action& action) {
  const int replica = stage * data_ + data;
  const auto& steps = resolved.program->steps;
  std::vector<StepTasks> tasks;
  tasks.reserve(steps.size());
  const auto picked = [&tasks](const std::vector<int>& indices) {
    std::vector<StepTasks> list(indices.size());
    std::transform(indices.begin(), indices.end(), list.begin(),
                   [&tasks](int i) { return tasks[index(i)]; });
    return list;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    tasks.push_back(add_step(resolved, i, replica, action));
    chain(picked(steps[i].after), tasks.back());
  }
  auto& previous = last_exits_[index(replica)];
  chain(previous, tasks.front());
  previous = picked(resolved.program->exits);
  return {tasks.front(), previous};
}

/// The last backward of a chunk is the one that fills gradient buckets.
Which TaskBuilder::which_phase(const Action& action, std::vector<int>& backwards_left) const {
  if (action.phase == Phase::forward) { return Which::forward; }
  return --backwards_left[index(action.chunk)] == 0 ? Which::last_backward : Which::backward;
}

/// Remembers the tasks of a stamped program (the first of which is `first`) that fill a bucket.
void TaskBuilder::note_buckets(const Program& program, TaskId first, int stage,
                               std::size_t& next_bucket) {
  auto& buckets = buckets_[index(stage)];
  TaskId task = first;
  for (const Step& step : program.steps) {
    if (step.bucket > 0) {
      if (next_bucket == buckets.size()) { buckets.push_back({step.bucket, {}}); }
      buckets[next_bucket++].ready.push_back({task, step.is_comm});
    }
    task += static_cast<TaskId>(step.is_comm ? 1 : tensor_);
  }
}

void TaskBuilder::run_schedule(int stage, int data) {
  const PipelineShape shape{strategy_.pipeline, input_.micro_batches, strategy_.chunks};
  const StageOrder order = input_.training ? schedule_named(strategy_.schedule)->order(shape, stage)
                                           : forward_only(shape);
  std::vector<int> backwards_left(index(strategy_.chunks), input_.micro_batches);
  std::size_t next_bucket = 0;
  for (const Action& action : order) {
    const Which which = which_phase(action, backwards_left);
    const int at = part(stage, action.chunk);
    const ResolvedProgram& resolved =
        resolved_[index(at * data_ + data)][static_cast<std::size_t>(which)];
    const auto first_task = static_cast<TaskId>(builder_.graph.tasks.size());
    const Stamped stamped = stamp(resolved, stage, data, action);
    const std::size_t direction = which == Which::forward ? 0 : 1;
    entries_[direction][message(at, data, action.micro_batch)] = stamped.entry;
    send(stamped, stage, data, action);
    note_buckets(*resolved.program, first_task, stage, next_bucket);
  }
}

TaskGraph build_tasks(const BuildInput& input) { return TaskBuilder(input).build(); }

}  // namespace tsim::strategies
