// Stamps the phases of a schedule: one action after another on every rank.
#include <algorithm>
#include <utility>

#include "strategies/schedule.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

/// One task for each group of tensor slots; a communication between replicas is added by the first
/// of them that comes to it.
StepTasks TaskBuilder::add_step(const ResolvedProgram& resolved, std::size_t step_index, int row,
                                const Action& action) {
  const Step& step = resolved.program->steps[step_index];
  const ResolvedStep& r = resolved.steps[step_index];
  Task task{.micro_batch = action.micro_batch,
            .effect = r.effect,
            .chunk = static_cast<std::int16_t>(action.chunk),
            .phase = step.phase};
  if (step.is_comm) {
    task.kind = TaskKind::comm;
    task.stream = step.comm.stream;
    const StepTasks tasks = add_comm(r, task, row);
    if (!reads_input(step)) { follow(tasks, step.phase, step.comm.stream, row); }
    if (step.swap != 0) { follow_swap(step, tasks, row, action); }
    if (step.to_host > 0) { note_gradients(tasks, step.to_host, row); }
    return tasks;
  }
  task.kind = TaskKind::compute;
  task.stream = Stream::compute;
  StepTasks tasks;
  for (int t = 0; t < tensor_; ++t) {
    task.place = static_cast<std::uint32_t>(row * tensor_ + t);
    task.work = r.work.front() + kind_of(row / replicas_, row % replicas_, t);
    const TaskId id = builder_.add(task);
    if (t == 0) { tasks.base = id; }
  }
  return tasks;
}

StepTasks TaskBuilder::add_comm(const ResolvedStep& resolved, Task task, int row) {
  StepTasks tasks{kNoTask, resolved.slots};
  if (resolved.leader >= 0 && resolved.leader != row % replicas_) {
    const int leader = row / replicas_ * replicas_ + resolved.leader;
    tasks = joined_[index(leader)][joined_[index(row)].size()];
  } else {
    for (std::size_t i = 0; i < resolved.work.size(); ++i) {
      task.work = resolved.work[i];
      task.place = resolved.group[i];
      const TaskId id = builder_.add(task);
      if (i == 0) { tasks.base = id; }
    }
  }
  if (resolved.leader >= 0) { joined_[index(row)].push_back(tasks); }
  return tasks;
}

/// Streams are first in, first out; the optimizer waits for the last gradients.
void TaskBuilder::follow(const StepTasks& tasks, Phase phase, Stream stream, int row) {
  auto& last = last_in_stream_[stream];
  last.resize(last_sync_.size(), kNoTask);
  for (int t = 0; t < tensor_; ++t) {
    const std::size_t me = index(row * tensor_ + t);
    builder_.edge(last[me], tasks.at(t));
    last[me] = tasks.at(t);
    if (phase == Phase::gradient_sync) { last_sync_[me] = tasks.at(t); }
  }
}

void TaskBuilder::chain(const std::vector<StepTasks>& before, const StepTasks& after) {
  for (const StepTasks& b : before) {
    for (int t = 0; t < tensor_; ++t) {
      const bool again = t > 0 && b.at(t) == b.at(t - 1) && after.at(t) == after.at(t - 1);
      if (!again) { builder_.edge(b.at(t), after.at(t)); }
    }
  }
}

Stamped TaskBuilder::stamp(const ResolvedProgram& resolved, int stage, int replica,
                           const Action& action) {
  const int row = stage * replicas_ + replica;
  const auto& steps = resolved.program->steps;
  auto& previous = last_exits_[index(row)];
  stamped_.clear();
  stamped_.reserve(steps.size());
  const auto picked = [this](const std::vector<int>& indices) {
    std::vector<StepTasks> list(indices.size());
    std::transform(indices.begin(), indices.end(), list.begin(),
                   [this](int i) { return stamped_[index(i)]; });
    return list;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    stamped_.push_back(add_step(resolved, i, row, action));
    chain(steps[i].after.empty() ? previous : picked(steps[i].after), stamped_.back());
  }
  previous = picked(resolved.program->exits);
  const auto entry = std::find_if(steps.begin(), steps.end(), reads_input) - steps.begin();
  return {stamped_[static_cast<std::size_t>(entry)], previous};
}

/// The first backward of a chunk is the one that makes gradients, the last one fills buckets.
Which TaskBuilder::which_phase(const Action& action) {
  const bool ends_micro_batch =
      action.phase == Phase::backward || action.phase == Phase::weight_grad;
  const bool each = steps_each(strategy_);
  const bool last = ends_micro_batch && (--backwards_left_[index(action.chunk)] == 0 || each);
  const bool begun =
      ends_micro_batch && std::exchange(backwards_begun_[index(action.chunk)], 1) != 0;
  const bool first = ends_micro_batch && (!begun || each);
  switch (action.phase) {
    case Phase::forward: {
      const bool again = std::exchange(forwards_begun_[index(action.chunk)], 1) != 0;
      return again || !input_.training ? Which::forward : Which::first_forward;
    }
    case Phase::input_grad: return Which::input_grad;
    case Phase::weight_grad:
      if (first) { return last ? Which::only_weight_grad : Which::first_weight_grad; }
      return last ? Which::last_weight_grad : Which::weight_grad;
    default:
      if (first) { return last ? Which::only_backward : Which::first_backward; }
      return last ? Which::last_backward : Which::backward;
  }
}

/// Remembers the tasks of the program stamped last that fill a bucket.
void TaskBuilder::note_buckets(const Program& program, Seat seat) {
  auto& buckets = buckets_[index(seat.stage)];
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::int64_t elements = program.steps[i].bucket;
    if (elements == 0) { continue; }
    if (next_bucket_ == buckets.size()) {
      buckets.push_back({seat.chunk, elements, {}, {}, program.steps[i].of_experts});
    }
    buckets[next_bucket_++].ready.push_back(stamped_[i]);
  }
}

/// The optimizer steps right after a backward: gradients of this micro-batch alone.
void TaskBuilder::step_now(int stage, int replica) {
  const int row = stage * replicas_ + replica;
  const auto& plan = input_.stages[index(stage)];
  const auto [at, added] = compute_index_.try_emplace(
      {stage, Which::forward, kNone}, static_cast<std::uint32_t>(builder_.graph.computes.size()));
  if (added) { builder_.graph.computes.push_back({"optimizer", plan.optimizer, {}, {}}); }
  StepTasks tasks;
  const std::uint32_t freed = free_gradients(plan);
  for (int t = 0; t < tensor_; ++t) {
    const TaskId id = builder_.add({.work = at->second,
                                    .place = static_cast<std::uint32_t>(row * tensor_ + t),
                                    .effect = freed,
                                    .kind = TaskKind::compute,
                                    .phase = Phase::optimizer,
                                    .stream = Stream::compute});
    if (t == 0) { tasks.base = id; }
  }
  chain(last_exits_[index(row)], tasks);
  last_exits_[index(row)] = {tasks};
  auto& buckets = buckets_[index(stage)];
  for (std::size_t b = first_of_step_; b < next_bucket_; ++b) { buckets[b].step.push_back(tasks); }
  first_of_step_ = next_bucket_;
}

/// A blocking exchange of messages with the neighbours: the phase at `entry` starts after what the
/// one before it sent has arrived, and messages to it leave when this stage has come to receive
/// them. In an order where that never ends, receives are posted early instead, as Megatron-LM's
/// interleaved schedule does.
void TaskBuilder::block(const Action& action, const StepTasks& entry,
                        const std::vector<StepTasks>& before, int stage, int replica) {
  if (!strategy_.batched_p2p) { return; }
  std::vector<TaskId>& sent = blocking_[index(stage * replicas_ + replica)];
  for (const TaskId first : sent) {
    for (int t = 0; t < tensor_; ++t) {
      builder_.edge(first + static_cast<TaskId>(t), entry.at(t));
    }
  }
  sent.clear();
  if (!meets_ || action.phase == Phase::weight_grad) { return; }
  const std::size_t direction = action.phase == Phase::forward ? 0 : 1;
  before_entry_[direction][message({stage, action.chunk}, replica, action.micro_batch)] = before;
}

/// One after the other.
std::vector<Stamped> TaskBuilder::stamp_each(std::span<const Action> actions, int stage,
                                             int replica) {
  std::vector<Stamped> stamped;
  for (const Action& action : actions) {
    const Which which = which_phase(action);
    const ResolvedProgram& resolved =
        program_at({stage, action.chunk}, replica, action.micro_batch % slices(), which);
    stamped.push_back(stamp(resolved, stage, replica, action));
    note_buckets(*resolved.program, {stage, action.chunk});
  }
  return stamped;
}

/// One action, or a pair that starts when both can and whose messages leave when both have ended.
void TaskBuilder::run_actions(std::span<const Action> actions, int stage, int replica) {
  const std::vector<StepTasks> before =
      meets_ ? last_exits_[index(stage * replicas_ + replica)] : std::vector<StepTasks>{};
  const bool woven = actions.size() == 2 && strategy_.experts.ranks > 1;
  const std::vector<Stamped> stamped =
      woven ? stamp_woven(actions, stage, replica) : stamp_each(actions, stage, replica);
  for (const Action& action : actions) {
    block(action, stamped.front().entry, before, stage, replica);
    if (action.phase == Phase::weight_grad) { continue; }
    const std::size_t direction = action.phase == Phase::forward ? 0 : 1;
    entries_[direction][message({stage, action.chunk}, replica, action.micro_batch)] =
        stamped.front().entry;
  }
  for (const Action& action : actions) {
    if (action.phase == Phase::weight_grad) { continue; }
    send(stamped.back(), stage, replica, action);
  }
  if (steps_each(strategy_) && actions.back().phase != Phase::forward) { step_now(stage, replica); }
}

void TaskBuilder::run_schedule(int stage, int replica) {
  const StageOrder& order = order_[index(stage)];
  backwards_left_.assign(index(shape_.chunks), 0);
  forwards_begun_.assign(index(shape_.chunks), 0);
  backwards_begun_.assign(index(shape_.chunks), 0);
  for (const Action& action : order) {
    const bool ends = action.phase == Phase::backward || action.phase == Phase::weight_grad;
    backwards_left_[index(action.chunk)] += ends ? 1 : 0;
  }
  next_bucket_ = 0;
  first_of_step_ = 0;
  for (std::size_t i = 0; i < order.size();) {
    const std::size_t count = order[i].paired && i + 1 < order.size() ? 2 : 1;
    run_actions(std::span(order).subspan(i, count), stage, replica);
    i += count;
  }
}

}  // namespace tsim::strategies
