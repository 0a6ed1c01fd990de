// Stamps the phases of a schedule: one action after another on every rank.
#include <algorithm>

#include "strategies/schedule.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

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
Which TaskBuilder::which_phase(const Action& action) {
  const bool ends_micro_batch =
      action.phase == Phase::backward || action.phase == Phase::weight_grad;
  const bool last =
      ends_micro_batch && (--backwards_left_[index(action.chunk)] == 0 || steps_each(strategy_));
  switch (action.phase) {
    case Phase::forward: return Which::forward;
    case Phase::input_grad: return Which::input_grad;
    case Phase::weight_grad: return last ? Which::last_weight_grad : Which::weight_grad;
    default: return last ? Which::last_backward : Which::backward;
  }
}

/// Remembers the tasks of a stamped program (the first of which is `first`) that fill a bucket.
void TaskBuilder::note_buckets(const Program& program, TaskId first, Seat seat) {
  auto& buckets = buckets_[index(seat.stage)];
  TaskId task = first;
  for (const Step& step : program.steps) {
    if (step.bucket > 0) {
      if (next_bucket_ == buckets.size()) { buckets.push_back({seat.chunk, step.bucket, {}, {}}); }
      buckets[next_bucket_++].ready.push_back({task, step.is_comm});
    }
    task += static_cast<TaskId>(step.is_comm ? 1 : tensor_);
  }
}

/// The optimizer steps right after a backward: gradients of this micro-batch alone.
void TaskBuilder::step_now(int stage, int data) {
  const int replica = stage * data_ + data;
  const auto& plan = input_.stages[index(stage)];
  const auto [at, added] = compute_index_.try_emplace(
      {stage, Which::forward, kNone}, static_cast<std::uint32_t>(builder_.graph.computes.size()));
  if (added) { builder_.graph.computes.push_back({"optimizer", plan.optimizer, {}, {}}); }
  StepTasks tasks;
  for (int t = 0; t < tensor_; ++t) {
    const TaskId id = builder_.add({.work = at->second,
                                    .place = static_cast<std::uint32_t>(replica * tensor_ + t),
                                    .kind = TaskKind::compute,
                                    .phase = Phase::optimizer,
                                    .stream = Stream::compute});
    if (t == 0) { tasks.base = id; }
  }
  chain(last_exits_[index(replica)], tasks);
  last_exits_[index(replica)] = {tasks};
  auto& buckets = buckets_[index(stage)];
  for (std::size_t b = first_of_step_; b < next_bucket_; ++b) { buckets[b].step.push_back(tasks); }
  first_of_step_ = next_bucket_;
}

/// A blocking exchange of messages with the neighbours: the phase at `entry` starts after what the
/// one before it sent has arrived, and messages to it leave when this stage has come to receive
/// them. In an order where that never ends, receives are posted early instead, as Megatron-LM's
/// interleaved schedule does.
void TaskBuilder::block(const Action& action, const StepTasks& entry,
                        const std::vector<StepTasks>& before, int stage, int data) {
  if (!strategy_.batched_p2p) { return; }
  std::vector<TaskId>& sent = blocking_[index(stage * data_ + data)];
  for (const TaskId first : sent) {
    for (int t = 0; t < tensor_; ++t) {
      builder_.edge(first + static_cast<TaskId>(t), entry.at(t));
    }
  }
  sent.clear();
  if (!meets_ || action.phase == Phase::weight_grad) { return; }
  const std::size_t direction = action.phase == Phase::forward ? 0 : 1;
  before_entry_[direction][message({stage, action.chunk}, data, action.micro_batch)] = before;
}

/// One action, or a pair that starts when both can and whose messages leave when both have ended.
void TaskBuilder::run_actions(std::span<const Action> actions, int stage, int data) {
  std::vector<Stamped> stamped;
  for (const Action& action : actions) {
    const Which which = which_phase(action);
    const ResolvedProgram& resolved = resolved_[index(seat({stage, action.chunk}) * data_ + data)]
                                               [static_cast<std::size_t>(which)];
    const auto first_task = static_cast<TaskId>(builder_.graph.tasks.size());
    const std::vector<StepTasks> before =
        meets_ ? last_exits_[index(stage * data_ + data)] : std::vector<StepTasks>{};
    stamped.push_back(stamp(resolved, stage, data, action));
    block(action, stamped.front().entry, before, stage, data);
    note_buckets(*resolved.program, first_task, {stage, action.chunk});
    if (action.phase == Phase::weight_grad) { continue; }
    const std::size_t direction = action.phase == Phase::forward ? 0 : 1;
    entries_[direction][message({stage, action.chunk}, data, action.micro_batch)] =
        stamped.front().entry;
  }
  for (const Action& action : actions) {
    if (action.phase == Phase::weight_grad) { continue; }
    send(stamped.back(), stage, data, action);
  }
  if (steps_each(strategy_) && actions.back().phase != Phase::forward) { step_now(stage, data); }
}

void TaskBuilder::run_schedule(int stage, int data) {
  const StageOrder& order = order_[index(stage)];
  backwards_left_.assign(index(shape_.chunks), 0);
  for (const Action& action : order) {
    const bool ends = action.phase == Phase::backward || action.phase == Phase::weight_grad;
    backwards_left_[index(action.chunk)] += ends ? 1 : 0;
  }
  next_bucket_ = 0;
  first_of_step_ = 0;
  for (std::size_t i = 0; i < order.size();) {
    const std::size_t count = order[i].paired && i + 1 < order.size() ? 2 : 1;
    run_actions(std::span(order).subspan(i, count), stage, data);
    i += count;
  }
}

}  // namespace tsim::strategies
