// What ranks that hold copies of the same experts tell each other.
#include <utility>

#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::string at_stage(std::string_view what, int stage) {
  return std::string(what) + ", stage " + std::to_string(stage);
}

/// Every group with those of the same number in another list.
void append(GroupCopies& to, const GroupCopies& more) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].insert(to[i].end(), more[i].begin(), more[i].end());
  }
}

}  // namespace

/// The groups of simulated ranks that hold the same experts.
std::vector<TaskBuilder::ExpertCopies> TaskBuilder::expert_copies_of(int stage) const {
  const RankGroup group = expert_copies(strategy_);
  const PlaneGroup axes = on_axes(group, strategy_.tensor);
  const int along_replicas = input_.folded.data ? 1 : group_count(axes.replica, replicas_);
  const int along_tensor = tensor_ == 1 ? 1 : group_count(axes.tensor, tensor_);
  std::vector<ExpertCopies> list;
  list.reserve(index(along_replicas * along_tensor));
  for (int r = 0; r < along_replicas; ++r) {
    for (int t = 0; t < along_tensor; ++t) {
      ExpertCopies copies;
      copies.replicas = input_.folded.data ? std::vector<int>{0} : members(axes.replica, r);
      copies.tensors = tensor_ == 1 ? std::vector<int>{0} : members(axes.tensor, t);
      copies.number = r * along_tensor + t;
      for (const int holder : holder_stages(shape_, stage)) {
        const Place place{members(axes.tensor, t).front(), members(axes.replica, r).front(),
                          holder};
        const GroupCopies here = group_copies(layout_, input_.folded, place, group);
        if (copies.devices.empty()) {
          copies.devices = here;
        } else {
          append(copies.devices, here);
        }
      }
      list.push_back(std::move(copies));
    }
  }
  return list;
}

void TaskBuilder::reduce_expert_bucket(const Bucket& bucket, int stage) {
  const bool sharded = strategy_.zero.stage >= 1;
  const CollectiveOp op = sharded ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  const Bytes size = bucket.elements * Bytes{size_of(strategy_.precision.reduction)};
  const std::string label = at_stage("expert gradient " + std::string(name_of(op)), stage);
  const std::vector<int> holders = holder_stages(shape_, stage);
  for (const ExpertCopies& copies : expert_copies_of(stage)) {
    const CommKey key{Stream::dp, op, expert_copies(strategy_),
                      stage * static_cast<int>(plane_size(strategy_)) + copies.number, size};
    const std::uint32_t comm = table_.comm(builder_.graph, key, label, copies.devices);
    std::vector<std::uint32_t> slots;
    for (const int holder : holders) {
      const auto here = slots_of(holder, copies.replicas, copies.tensors);
      slots.insert(slots.end(), here.begin(), here.end());
    }
    const TaskId id = builder_.add({.work = comm,
                                    .place = group(slots),
                                    .kind = TaskKind::comm,
                                    .phase = Phase::gradient_sync,
                                    .stream = Stream::dp});
    for (std::size_t h = 0; h < holders.size(); ++h) {
      for (const int r : copies.replicas) {
        const std::size_t at = h * index(replicas_) + index(r);
        for (const int t : copies.tensors) {
          builder_.edge(bucket.ready[at].at(t), id);
          if (!strategy_.overlap_gradients) { after_last_phase(holders[h], r, t, id); }
          if (at < bucket.step.size()) { builder_.edge(id, bucket.step[at].at(t)); }
        }
      }
    }
    for (const std::uint32_t s : slots) { builder_.edge(std::exchange(last_sync_[s], id), id); }
  }
}

/// Each rank has stepped its shard of its experts.
void TaskBuilder::gather_experts(int stage) {
  const StagePlan& plan = input_.stages[index(stage)];
  const bool apart = plan.experts.elements > 0 && expert_state_shards(strategy_) > 1;
  const int zero = strategy_.zero.stage;
  if (!apart || zero == 3) { return; }
  if (strategy_.overlap_parameters) { return; }  // the first forward gathers
  const Bytes size = plan.experts.elements * Bytes{size_of(kept_weights(strategy_.precision))};
  for (const ExpertCopies& copies : expert_copies_of(stage)) {
    const CommKey key{Stream::dp, CollectiveOp::all_gather, expert_copies(strategy_),
                      stage * static_cast<int>(plane_size(strategy_)) + copies.number, size};
    const std::uint32_t comm = table_.comm(
        builder_.graph, key, at_stage("expert parameter all-gather", stage), copies.devices);
    std::vector<std::uint32_t> slots;
    for (const int holder : holder_stages(shape_, stage)) {
      const auto here = slots_of(holder, copies.replicas, copies.tensors);
      slots.insert(slots.end(), here.begin(), here.end());
    }
    gather_stepped(comm, slots);
  }
}

}  // namespace tsim::strategies
