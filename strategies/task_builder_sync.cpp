// What ranks tell each other between the last gradients and the optimizer.
#include <numeric>
#include <utility>

#include "strategies/gradient_norm.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

/// Parts of the tensor group that hold the same weights, and each found a part of their gradients.
void TaskBuilder::reduce_shared(int stage) {
  for (const SharedGradients& shared : input_.stages[index(stage)].shared) {
    Step step;
    step.comm = {CollectiveOp::all_reduce,
                 {GroupAxis::tensor, shared.ranks.size, shared.ranks.stride},
                 Stream::tp,
                 shared.elements * Bytes{size_of(strategy_.precision.reduction)}};
    for (int replica = 0; replica < replicas_; ++replica) { reduce_shared(step, stage, replica); }
  }
}

void TaskBuilder::reduce_shared(const Step& step, int stage, int replica) {
  const ResolvedStep resolved = resolve_comm(step, stage, replica);
  for (std::size_t i = 0; i < resolved.work.size(); ++i) {
    const TaskId id = builder_.add({.work = resolved.work[i],
                                    .place = resolved.group[i],
                                    .kind = TaskKind::comm,
                                    .phase = Phase::gradient_sync,
                                    .stream = Stream::tp});
    for (const std::uint32_t me : builder_.graph.groups[resolved.group[i]]) {
      after_last_phase(stage, replica, static_cast<int>(me) % tensor_, id);
      builder_.edge(std::exchange(last_sync_[me], id), id);
    }
  }
}

/// No optimizer steps before all have found the norm of all gradients.
void TaskBuilder::add_norm() {
  if (!waits_for_norm(strategy_)) { return; }
  const bool once = shard_count(strategy_) > 1;
  for (int replica = 0; replica < (once ? 1 : replicas_); ++replica) { add_norm(replica, once); }
}

/// Of one replica, or of all `together`.
void TaskBuilder::add_norm(int replica, bool together) {
  GroupCopies copies{norm_ranks(layout_, strategy_, replica)};
  if (copies.front().size() < 2) { return; }
  for (int r = 0; !together && input_.folded.data && r < layout_.replicas(); ++r) {
    if (r != replica) { copies.push_back(norm_ranks(layout_, strategy_, r)); }
  }
  std::vector<int> replicas(together ? index(replicas_) : 1, replica);
  if (together) { std::iota(replicas.begin(), replicas.end(), 0); }
  std::vector<int> tensors(index(tensor_));
  std::iota(tensors.begin(), tensors.end(), 0);
  std::vector<std::uint32_t> slots;
  for (int stage = 0; stage < strategy_.pipeline; ++stage) {
    const std::vector<std::uint32_t> here = slots_of(stage, replicas, tensors);
    slots.insert(slots.end(), here.begin(), here.end());
  }
  const Stream stream = norm_stream(strategy_);
  const CommKey key{stream, CollectiveOp::all_reduce, {}, -1 - replica, kNormSize};
  const TaskId id =
      builder_.add({.work = table_.comm(builder_.graph, key, "gradient norm all-reduce", copies),
                    .place = group(slots),
                    .kind = TaskKind::comm,
                    .phase = Phase::gradient_sync,
                    .stream = stream});
  for (const std::uint32_t me : slots) {
    const int row = static_cast<int>(me) / tensor_;
    after_last_phase(row / replicas_, row % replicas_, static_cast<int>(me) % tensor_, id);
    builder_.edge(embedding_sync_[me], id);
    builder_.edge(std::exchange(last_sync_[me], id), id);
  }
}

}  // namespace tsim::strategies
