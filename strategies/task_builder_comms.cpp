#include <algorithm>

#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

CollectiveOp op_of(TensorComm kind) {
  switch (kind) {
    case TensorComm::all_reduce: return CollectiveOp::all_reduce;
    case TensorComm::reduce_scatter: return CollectiveOp::reduce_scatter;
    case TensorComm::all_gather: return CollectiveOp::all_gather;
  }
  return CollectiveOp::all_reduce;
}

std::string at_stage(std::string_view what, int stage) {
  return std::string(what) + ", stage " + std::to_string(stage);
}

}  // namespace

std::uint32_t TaskBuilder::tensor_comm(const Step& step, int stage, int data) {
  const CollectiveOp op = op_of(step.comm);
  const CommKey key{Stream::tp, op, stage * data_ + data, step.size};
  return table_.comm(builder_.graph, key, at_stage("tp " + std::string(name_of(op)), stage),
                     tensor_copies(layout_, input_.folded, data, stage));
}

/// Sends the output of a forward on, or the gradient of its input back. Sends of one rank in one
/// direction leave one after the other.
void TaskBuilder::send(const Stamped& from, int stage, int data, const Action& action) {
  const bool forward = action.phase == Phase::forward;
  const int here = part(stage, action.chunk);
  const int there = forward ? here + 1 : here - 1;
  if (there < 0 || there >= parts_) { return; }
  const std::size_t direction = forward ? 0 : 1;
  const int to_stage = there % strategy_.pipeline;
  const ChunkPlan& plan = input_.stages[index(stage)].chunks[index(action.chunk)];
  Bytes size = forward ? plan.output : plan.input;
  // Under sequence parallelism a rank's output is its part already.
  if (strategy_.scatter_gather && !strategy_.sequence_parallel) {
    size = Bytes{(size.value + strategy_.tensor - 1) / strategy_.tensor};
  }
  if (to_stage == stage) {  // one stage with several chunks: nothing moves
    sends_[direction][message(there, data, action.micro_batch)] = from.exits.front().base;
    return;
  }
  for (int t = 0; t < tensor_; ++t) {
    const auto me = static_cast<std::uint32_t>(slot(stage, data, t));
    const CommKey key{Stream::pp, CollectiveOp::send_recv,
                      static_cast<int>(me) * 2 + static_cast<int>(direction), size};
    const std::string label = "stage " + std::to_string(stage) + " -> " + std::to_string(to_stage);
    const std::uint32_t comm =
        table_.comm(builder_.graph, key, label,
                    stage_copies(layout_, input_.folded, {t, data, stage}, {stage, to_stage}));
    const Task task{.work = comm,
                    .place = group({me, static_cast<std::uint32_t>(slot(to_stage, data, t))}),
                    .micro_batch = action.micro_batch,
                    .chunk = static_cast<std::int16_t>(action.chunk),
                    .kind = TaskKind::comm,
                    .phase = Phase::transfer,
                    .stream = Stream::pp};
    const TaskId id = builder_.add(task);
    for (const StepTasks& exit : from.exits) { builder_.edge(exit.at(t), id); }
    builder_.edge(last_send_[direction][me], id);
    last_send_[direction][me] = id;
    if (t == 0) { sends_[direction][message(there, data, action.micro_batch)] = id; }
  }
}

void TaskBuilder::connect_sends() {
  for (std::size_t direction = 0; direction < 2; ++direction) {
    for (std::size_t m = 0; m < sends_[direction].size(); ++m) {
      const TaskId sent = sends_[direction][m];
      if (sent == kNoTask) { continue; }
      const bool per_slot = builder_.graph.tasks[sent].phase == Phase::transfer;
      for (int t = 0; per_slot && t < tensor_; ++t) {
        builder_.edge(sent + static_cast<TaskId>(t), entries_[direction][m].at(t));
      }
    }
  }
}

std::vector<std::uint32_t> TaskBuilder::replica_slots(int stage, int tensor) const {
  std::vector<std::uint32_t> slots;
  slots.reserve(index(data_));
  for (int d = 0; d < data_; ++d) {
    slots.push_back(static_cast<std::uint32_t>(slot(stage, d, tensor)));
  }
  return slots;
}

void TaskBuilder::reduce_gradients(int stage) {
  if (strategy_.data == 1) { return; }
  for (const Bucket& bucket : buckets_[index(stage)]) {
    for (int t = 0; t < tensor_; ++t) { reduce_bucket(bucket, stage, t); }
  }
}

/// As soon as every replica has filled the bucket, or, without overlap, after the last phase.
void TaskBuilder::reduce_bucket(const Bucket& bucket, int stage, int tensor) {
  const bool sharded = strategy_.zero >= 1;
  const CollectiveOp op = sharded ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  const Bytes size = bucket.elements * Bytes{size_of(strategy_.precision.reduction)};
  const std::vector<std::uint32_t> slots = replica_slots(stage, tensor);
  const CommKey key{Stream::dp, op, stage * tensor_ + tensor, size};
  const std::uint32_t comm =
      table_.comm(builder_.graph, key, at_stage("gradient " + std::string(name_of(op)), stage),
                  data_copies(layout_, input_.folded, tensor, stage));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(slots),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::gradient_sync,
                                  .stream = Stream::dp});
  for (const StepTasks& ready : bucket.ready) { builder_.edge(ready.at(tensor), id); }
  for (int d = 0; !strategy_.overlap_gradients && d < data_; ++d) {
    after_last_phase(stage, d, tensor, id);
  }
  builder_.edge(last_sync_[slots.front()], id);
  for (const std::uint32_t s : slots) { last_sync_[s] = id; }
}

/// Stages that hold copies of a tied embedding add up its gradients.   [arXiv:2104.04473, sec. 3.2]
void TaskBuilder::reduce_embedding() {
  std::vector<int> stages;
  for (int s = 0; s < strategy_.pipeline; ++s) {
    if (input_.stages[index(s)].shares_embedding) { stages.push_back(s); }
  }
  if (stages.size() < 2) { return; }
  for (int d = 0; d < data_; ++d) {
    for (int t = 0; t < tensor_; ++t) { reduce_embedding_of(stages, d, t); }
  }
}

void TaskBuilder::reduce_embedding_of(const std::vector<int>& stages, int data, int tensor) {
  const Bytes size = input_.stages[index(stages.front())].embedding_elements *
                     Bytes{size_of(strategy_.precision.reduction)};
  std::vector<std::uint32_t> slots;
  slots.reserve(stages.size());
  for (const int s : stages) { slots.push_back(static_cast<std::uint32_t>(slot(s, data, tensor))); }
  const CommKey key{Stream::pp, CollectiveOp::all_reduce, slot(0, data, tensor), size};
  const std::uint32_t comm =
      table_.comm(builder_.graph, key, "tied embedding all-reduce",
                  stage_copies(layout_, input_.folded, {tensor, data, stages.front()}, stages));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(slots),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::gradient_sync,
                                  .stream = Stream::pp});
  for (const int s : stages) {
    const auto me = index(slot(s, data, tensor));
    embedding_sync_[me] = id;
    builder_.edge(last_sync_[me], id);
    after_last_phase(s, data, tensor, id);
  }
}

/// `task` waits for the last phase of the schedule on a rank.
void TaskBuilder::after_last_phase(int stage, int data, int tensor, TaskId task) {
  for (const StepTasks& exit : last_exits_[index(stage * data_ + data)]) {
    builder_.edge(exit.at(tensor), task);
  }
}

void TaskBuilder::step_optimizer(int stage) {
  const auto work = static_cast<std::uint32_t>(builder_.graph.computes.size());
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    builder_.graph.computes.push_back({"optimizer", plan_on(kind, stage).optimizer, {}, {}});
  }
  for (int t = 0; t < tensor_; ++t) {
    std::vector<TaskId> steps;
    steps.reserve(index(data_));
    for (int d = 0; d < data_; ++d) {
      const auto me = static_cast<std::uint32_t>(slot(stage, d, t));
      steps.push_back(builder_.add({.work = work + kind_of(stage, d, t),
                                    .place = me,
                                    .kind = TaskKind::compute,
                                    .phase = Phase::optimizer,
                                    .stream = Stream::compute}));
      after_last_phase(stage, d, t, steps.back());
      builder_.edge(last_sync_[me], steps.back());
      builder_.edge(embedding_sync_[me], steps.back());
    }
    if (strategy_.zero > 0 && strategy_.data > 1) { gather_parameters(stage, t, steps); }
  }
}

/// Each replica has stepped its shard of the optimizer: the others need the new weights.
void TaskBuilder::gather_parameters(int stage, int tensor, const std::vector<TaskId>& steps) {
  const Bytes size =
      input_.stages[index(stage)].elements * Bytes{size_of(strategy_.precision.compute)};
  const CommKey key{Stream::dp, CollectiveOp::all_gather, stage * tensor_ + tensor, size};
  const std::uint32_t comm =
      table_.comm(builder_.graph, key, at_stage("parameter all-gather", stage),
                  data_copies(layout_, input_.folded, tensor, stage));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(replica_slots(stage, tensor)),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::parameter_sync,
                                  .stream = Stream::dp});
  for (const TaskId step : steps) { builder_.edge(step, id); }
}

}  // namespace tsim::strategies
