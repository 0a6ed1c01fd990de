#include <algorithm>
#include <array>

#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Every member sends to the next one, the last one to the first.
void close_rings(GroupCopies& copies) {
  for (std::vector<int>& devices : copies) { devices.push_back(devices.front()); }
}

std::string at_stage(std::string_view what, int stage) {
  return std::string(what) + ", stage " + std::to_string(stage);
}

std::string text_of(const Communication& c, Phase phase) {
  if (is_copy(c.group.axis) || c.group.axis == GroupAxis::peer) { return copy_text(c, phase); }
  return std::string(name_of(c.stream)) + " " + std::string(name_of(c.op));
}

}  // namespace

/// From a stage to the one that keeps activations for it, or back.
std::vector<int> TaskBuilder::peer_stages(Stream way, int stage) const {
  const int keeper = keeper_of(strategy_, stage);
  if (way == Stream::copy_in) { return {keeper, stage}; }
  return {stage, keeper};
}

std::vector<std::uint32_t> TaskBuilder::slots_of(int stage, const std::vector<int>& replicas,
                                                 const std::vector<int>& tensors) const {
  std::vector<std::uint32_t> slots;
  slots.reserve(replicas.size() * tensors.size());
  for (const int r : replicas) {
    for (const int t : tensors) { slots.push_back(static_cast<std::uint32_t>(slot(stage, r, t))); }
  }
  return slots;
}

/// Devices of the group that `place` is in, and of its folded copies.
GroupCopies TaskBuilder::copies_of(const Communication& c, const Place& place) const {
  if (c.group.axis == GroupAxis::peer) {
    return stage_copies(layout_, input_.folded, place, peer_stages(c.stream, place.stage));
  }
  GroupCopies copies = group_copies(layout_, input_.folded, place, c.group);
  const bool ring = c.op == CollectiveOp::send_recv && !is_copy(c.group.axis);
  if (ring) { close_rings(copies); }
  return copies;
}

/// A communication of one replica: over groups of its tensor slots, or, for each slot, with other
/// replicas or the host.
ResolvedStep TaskBuilder::resolve_comm(const Step& step, int stage, int replica) {
  const Communication& c = step.comm;
  const PlaneGroup axes = axes_of(c.group, layout_);
  ResolvedStep resolved;
  resolved.slots = tensor_ == 1 ? RankGroup{GroupAxis::tensor} : axes.tensor;
  const int number = group_of(axes.replica, replica);
  std::vector<int> together{replica};  // simulated replicas of the group
  const bool crosses = c.group.axis == GroupAxis::replica || axes.replica.size > 1;
  if (crosses && !input_.folded.data) {
    together = members(axes.replica, number);
    resolved.leader = together.front();
  }
  const int count = group_count(resolved.slots, tensor_);
  const std::string label = at_stage(text_of(c, step.phase), stage);
  for (int i = 0; i < count; ++i) {
    const std::vector<int> tensors = members(resolved.slots, i);
    const int tensor = members(axes.tensor, i).front();
    std::vector<std::uint32_t> slots = slots_of(stage, together, tensors);
    const CommKey key{c.stream,
                      c.op,
                      c.group,
                      (stage * replica_count(strategy_) + number) * strategy_.tensor + i,
                      c.size,
                      c.layer,
                      slots.size() == 1,
                      c.root};
    resolved.work.push_back(
        table_.comm(builder_.graph, key, label, copies_of(c, {tensor, replica, stage})));
    resolved.group.push_back(group(std::move(slots)));
  }
  return resolved;
}

Bytes TaskBuilder::message_size(int stage, const Action& action) const {
  const ChunkPlan& plan = chunk_of({stage, action.chunk}, action.micro_batch % slices());
  const Bytes size = action.phase == Phase::forward ? plan.output : plan.input;
  if (!cuts_messages(strategy_)) { return size; }
  return Bytes{(size.value + strategy_.tensor - 1) / strategy_.tensor};
}

/// Sends the output of a forward on, or the gradient of its input back.
void TaskBuilder::send(const Stamped& from, int stage, int replica, const Action& action) {
  const bool forward = action.phase == Phase::forward;
  const auto to = neighbour(shape_, {stage, action.chunk}, forward ? 1 : -1);
  if (!to) { return; }
  if (to->stage == stage) {  // the next part is here, too: nothing moves
    sends_[forward ? 0 : 1][message(*to, replica, action.micro_batch)] = from.exits.front().base;
    return;
  }
  send_to(from, {{stage, action.chunk}, *to}, replica, action);
}

/// Messages of one rank in one direction (on through the model or back; along a wave or in two
/// directions, up or down the stages) leave one after the other.
void TaskBuilder::send_to(const Stamped& from, const Hop& hop, int replica, const Action& action) {
  const int stage = hop.from.stage;
  const Seat to = hop.to;
  const std::size_t direction = action.phase == Phase::forward ? 0 : 1;
  const bool up = shape_.placement == Placement::loop ? direction == 0 : to.stage > stage;
  auto& last_send = last_send_[up ? 0 : 1];
  const Bytes size = message_size(stage, action);
  const std::string label = "stage " + std::to_string(stage) + " -> " + std::to_string(to.stage);
  for (int t = 0; t < tensor_; ++t) {
    const auto me = static_cast<std::uint32_t>(slot(stage, replica, t));
    const CommKey key{Stream::pp,
                      CollectiveOp::send_recv,
                      {},
                      static_cast<int>(me) * shape_.stages + to.stage,
                      size};
    // Copies are listed for the first of many messages only.
    const std::optional<std::uint32_t> known = table_.known(key);
    const std::uint32_t comm =
        known ? *known
              : table_.comm(
                    builder_.graph, key, label,
                    stage_copies(layout_, input_.folded, {t, replica, stage}, {stage, to.stage}));
    const Task task{.work = comm,
                    .place = group({me, static_cast<std::uint32_t>(slot(to.stage, replica, t))}),
                    .micro_batch = action.micro_batch,
                    .chunk = static_cast<std::int16_t>(action.chunk),
                    .kind = TaskKind::comm,
                    .phase = Phase::transfer,
                    .stream = Stream::pp};
    const TaskId id = builder_.add(task);
    for (const StepTasks& exit : from.exits) { builder_.edge(exit.at(t), id); }
    builder_.edge(last_send[me], id);
    last_send[me] = id;
    if (t > 0) { continue; }
    sends_[direction][message(to, replica, action.micro_batch)] = id;
    if (strategy_.batched_p2p) { blocking_[index(stage * replicas_ + replica)].push_back(id); }
  }
}

void TaskBuilder::connect_sends() {
  for (std::size_t direction = 0; direction < 2; ++direction) {
    for (std::size_t m = 0; m < sends_[direction].size(); ++m) {
      const TaskId sent = sends_[direction][m];
      if (sent == kNoTask || builder_.graph.tasks[sent].phase != Phase::transfer) { continue; }
      connect_send(sent, direction, m);
    }
  }
}

/// A message starts what waits for it, and waits for its receiver where the two meet.
void TaskBuilder::connect_send(TaskId sent, std::size_t direction, std::size_t message) {
  for (int t = 0; t < tensor_; ++t) {
    const TaskId id = sent + static_cast<TaskId>(t);
    builder_.edge(id, entries_[direction][message].at(t));
    if (!meets_) { continue; }
    for (const StepTasks& before : before_entry_[direction][message]) {
      builder_.edge(before.at(t), id);
    }
  }
}

/// Devices of all ranks that hold the same parameters as `stage` and tensor slot; copies folded.
GroupCopies TaskBuilder::holders(int stage, int tensor) const {
  return replica_copies(layout_, input_.folded, tensor, holder_stages(shape_, stage));
}

std::vector<std::uint32_t> TaskBuilder::replica_slots(int stage, int tensor) const {
  std::vector<std::uint32_t> slots;
  for (const int holder : holder_stages(shape_, stage)) {
    for (int d = 0; d < replicas_; ++d) {
      slots.push_back(static_cast<std::uint32_t>(slot(holder, d, tensor)));
    }
  }
  return slots;
}

void TaskBuilder::reduce_gradients(int stage) {
  if (mirror_stage(shape_, stage) < stage) { return; }
  if (mirror_stage(shape_, stage) > stage) { merge_buckets(stage); }
  for (const Bucket& bucket : buckets_[index(stage)]) {
    if (bucket.of_experts) {
      reduce_expert_bucket(bucket, stage);
      continue;
    }
    for (int t = 0; t < tensor_; ++t) { reduce_bucket(bucket, stage, t); }
  }
}

/// The two holders of a part cut its gradients alike: a bucket is ready when both have filled it.
void TaskBuilder::merge_buckets(int stage) {
  const auto& others = buckets_[index(mirror_stage(shape_, stage))];
  std::array<std::size_t, 2> next{};  // by chunk here, which is the other chunk there
  for (Bucket& bucket : buckets_[index(stage)]) {
    std::size_t& at = next[index(bucket.chunk)];
    while (others[at].chunk == bucket.chunk) { ++at; }
    bucket.ready.insert(bucket.ready.end(), others[at].ready.begin(), others[at].ready.end());
    ++at;
  }
}

/// As soon as every replica has filled the bucket, or, without overlap, after the last phase.
void TaskBuilder::reduce_bucket(const Bucket& bucket, int stage, int tensor) {
  const bool sharded = strategy_.zero.stage >= 1;
  const CollectiveOp op = sharded ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  const Bytes size = bucket.elements * Bytes{size_of(strategy_.precision.reduction)};
  const std::vector<std::uint32_t> slots = replica_slots(stage, tensor);
  const CommKey key{Stream::dp, op, {}, stage * tensor_ + tensor, size};
  const std::uint32_t comm =
      table_.comm(builder_.graph, key, at_stage("gradient " + std::string(name_of(op)), stage),
                  holders(stage, tensor));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(slots),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::gradient_sync,
                                  .stream = Stream::dp});
  for (const StepTasks& ready : bucket.ready) { builder_.edge(ready.at(tensor), id); }
  for (const int holder : holder_stages(shape_, stage)) {
    for (int d = 0; !strategy_.overlap_gradients && d < replicas_; ++d) {
      after_last_phase(holder, d, tensor, id);
    }
  }
  for (const StepTasks& step : bucket.step) { builder_.edge(id, step.at(tensor)); }
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
  for (int d = 0; d < replicas_; ++d) {
    for (int t = 0; t < tensor_; ++t) { reduce_embedding_of(stages, d, t); }
  }
}

void TaskBuilder::reduce_embedding_of(const std::vector<int>& stages, int replica, int tensor) {
  const Bytes size = input_.stages[index(stages.front())].embedding_elements *
                     Bytes{size_of(strategy_.precision.reduction)};
  std::vector<std::uint32_t> slots;
  slots.reserve(stages.size());
  for (const int s : stages) {
    slots.push_back(static_cast<std::uint32_t>(slot(s, replica, tensor)));
  }
  const CommKey key{Stream::pp, CollectiveOp::all_reduce, {}, slot(0, replica, tensor), size};
  const std::uint32_t comm =
      table_.comm(builder_.graph, key, "tied embedding all-reduce",
                  stage_copies(layout_, input_.folded, {tensor, replica, stages.front()}, stages));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(slots),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::gradient_sync,
                                  .stream = Stream::pp});
  for (const int s : stages) {
    const auto me = index(slot(s, replica, tensor));
    embedding_sync_[me] = id;
    builder_.edge(last_sync_[me], id);
    after_last_phase(s, replica, tensor, id);
  }
}

/// `task` waits for the last phase of the schedule on a rank.
void TaskBuilder::after_last_phase(int stage, int replica, int tensor, TaskId task) {
  for (const StepTasks& exit : last_exits_[index(stage * replicas_ + replica)]) {
    builder_.edge(exit.at(tensor), task);
  }
}

void TaskBuilder::step_optimizer(int stage) {
  const auto work = static_cast<std::uint32_t>(builder_.graph.computes.size());
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    builder_.graph.computes.push_back({"optimizer", plan_on(kind, stage).optimizer, {}, {}});
  }
  const std::uint32_t freed = free_gradients(input_.stages[index(stage)]);
  for (int t = 0; t < tensor_; ++t) {
    for (int d = 0; d < replicas_; ++d) {
      const auto me = static_cast<std::uint32_t>(slot(stage, d, t));
      if (steps_on_host(strategy_)) {
        optimizer_step_[me] = step_on_host(stage, d, t);
        continue;
      }
      const TaskId id = builder_.add({.work = work + kind_of(stage, d, t),
                                      .place = me,
                                      .effect = freed,
                                      .kind = TaskKind::compute,
                                      .phase = Phase::optimizer,
                                      .stream = Stream::compute});
      optimizer_step_[me] = id;
      after_last_phase(stage, d, t, id);
      builder_.edge(last_sync_[me], id);
      builder_.edge(embedding_sync_[me], id);
    }
    const bool last_holder = mirror_stage(shape_, stage) <= stage;
    if (last_holder) { gather_parameters(stage, t); }
  }
  if (mirror_stage(shape_, stage) <= stage) { gather_experts(stage); }
}

/// Each replica has stepped its shard of the optimizer: the others need the new weights, at stage 3
/// only of what is kept whole.
void TaskBuilder::gather_parameters(int stage, int tensor) {
  const int zero = strategy_.zero.stage;
  if (zero == 0 || state_shards(strategy_) == 1) { return; }
  if (zero < 3 && strategy_.overlap_parameters) { return; }  // the first forward gathers
  const StagePlan& plan = input_.stages[index(stage)];
  const std::int64_t elements = zero == 3 ? plan.whole : plan.elements - plan.experts.elements;
  const Bytes size = elements * Bytes{size_of(kept_weights(strategy_.precision))};
  if (size.value == 0) { return; }
  if (strategy_.zero.shard_group > 0) {
    gather_shards(stage, tensor, {GroupAxis::replica, strategy_.zero.shard_group}, size);
    return;
  }
  const std::vector<std::uint32_t> slots = replica_slots(stage, tensor);
  const CommKey key{Stream::dp, CollectiveOp::all_gather, {}, stage * tensor_ + tensor, size};
  const std::uint32_t comm = table_.comm(
      builder_.graph, key, at_stage("parameter all-gather", stage), holders(stage, tensor));
  gather_stepped(comm, slots);
}

/// After the optimizer's steps of all `slots`.
void TaskBuilder::gather_stepped(std::uint32_t comm, const std::vector<std::uint32_t>& slots) {
  const TaskId id = builder_.add({.work = comm,
                                  .place = group(slots),
                                  .kind = TaskKind::comm,
                                  .phase = Phase::parameter_sync,
                                  .stream = Stream::dp});
  for (const std::uint32_t s : slots) { builder_.edge(optimizer_step_[s], id); }
}

/// Parameters within each group of replicas that share one copy.
void TaskBuilder::gather_shards(int stage, int tensor, const RankGroup& shards, Bytes size) {
  const int groups = input_.folded.data ? 1 : group_count(shards, replicas_);
  for (int number = 0; number < groups; ++number) {
    const std::vector<int> together =
        input_.folded.data ? std::vector<int>{0} : members(shards, number);
    const Place place{tensor, together.front(), stage};
    const CommKey key{Stream::dp, CollectiveOp::all_gather, shards,
                      (stage * replica_count(strategy_) + number) * strategy_.tensor + tensor,
                      size};
    const std::uint32_t comm =
        table_.comm(builder_.graph, key, at_stage("parameter all-gather", stage),
                    group_copies(layout_, input_.folded, place, shards));
    gather_stepped(comm, slots_of(stage, together, {tensor}));
  }
}

}  // namespace tsim::strategies
