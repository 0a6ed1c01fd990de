#include "strategies/fold.hpp"

#include <algorithm>
#include <set>

#include "strategies/gradient_norm.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

/// Everything that comparing groups with their folded copies reads.
class AlikeCheck {
 public:
  AlikeCheck(FoldedAxes axes, const Strategy& strategy, const std::vector<StagePlan>& stages,
             const cost::Topology& topology, CommTable& table)
      : axes_(axes),
        strategy_(strategy),
        stages_(stages),
        topology_(topology),
        table_(table),
        layout_(strategy),
        shape_(shape_of(strategy, 1)) {}

  bool all_alike() {
    const std::vector<Place> places = simulated_places();
    return norms_alike() && std::all_of(places.begin(), places.end(),
                                        [this](const Place& place) { return alike_at(place); });
  }

 private:
  /// The norm is added up by every replica at once, unless all ranks do it together.
  bool norms_alike() {
    if (!axes_.data || !waits_for_norm(strategy_) || shard_count(strategy_) > 1) { return true; }
    GroupCopies copies;
    for (int r = 0; r < layout_.replicas(); ++r) {
      copies.push_back(norm_ranks(layout_, strategy_, r));
    }
    return copies.front().size() < 2 || table_.alike(CollectiveOp::all_reduce, copies, kNormSize);
  }

  std::vector<Place> simulated_places() const {
    const int replicas = axes_.data ? 1 : replica_count(strategy_);
    const int tensors = axes_.tensor ? 1 : strategy_.tensor;
    const int count = strategy_.pipeline * replicas * tensors;
    std::vector<Place> places;
    places.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      places.push_back({i % tensors, i / tensors % replicas, i / tensors / replicas});
    }
    return places;
  }

  bool alike_at(const Place& place) {
    if (!kinds_alike(place)) { return false; }
    const StagePlan& plan = stages_[static_cast<std::size_t>(place.stage)];
    const Bytes message = std::max(plan.chunks.front().output, Bytes{1});
    const std::vector<int> holders = holder_stages(shape_, place.stage);
    const Bytes gradients = plan.elements * Bytes{size_of(strategy_.precision.reduction)};
    const std::set<RankGroup> groups = tensor_groups(plan);
    return std::all_of(groups.begin(), groups.end(),
                       [&](const RankGroup& group) {
                         return sums_alike(group_copies(layout_, axes_, place, group), message);
                       }) &&
           groups_alike(place, gradients) && copies_alike(place, message) &&
           experts_alike(place, plan, message) &&
           sums_alike(replica_copies(layout_, axes_, place.tensor, holders), gradients) &&
           messages_alike(place, message);
  }

  /// Groups along the tensor axis that the stage's programs use, and the whole one.
  std::set<RankGroup> tensor_groups(const StagePlan& plan) const {
    std::set<RankGroup> groups{{GroupAxis::tensor, strategy_.tensor}};
    for (const ChunkPlan& chunk : plan.chunks) {
      for (const Program* program : {&chunk.forward, &chunk.backward}) {
        for (const Step& step : program->steps) {
          const bool along = step.is_comm && step.comm.group.axis == GroupAxis::tensor;
          if (along) { groups.insert(step.comm.group); }
        }
      }
    }
    return groups;
  }

  /// Whether all ranks that are folded into the one at `place` sit on devices of one kind.
  bool kinds_alike(const Place& place) const {
    const auto& kinds = topology_.device_kind;
    const auto kind_of = [&](const std::vector<int>& group) {
      return kinds[static_cast<std::size_t>(group.front())];
    };
    const GroupCopies copies = stage_copies(layout_, axes_, place, {place.stage});
    return std::ranges::all_of(
        copies, [&](const auto& group) { return kind_of(group) == kind_of(copies.front()); });
  }

  bool sums_alike(const GroupCopies& copies, Bytes size) {
    return copies.front().size() < 2 || table_.alike(CollectiveOp::all_reduce, copies, size);
  }

  /// Every group of replicas that communicates.
  bool groups_alike(const Place& place, Bytes size) {
    const std::vector<RankGroup> groups = replica_groups(strategy_);
    return std::ranges::all_of(groups, [&](const RankGroup& group) {
      return sums_alike(group_copies(layout_, axes_, place, group), size);
    });
  }

  /// Ranks that have different experts, that split one, and that hold copies of the same.
  bool experts_alike(const Place& place, const StagePlan& plan, Bytes size) {
    if (plan.experts.elements == 0) { return true; }
    const auto alike = [&](CollectiveOp op, const RankGroup& group) {
      const CommKey key{.stream = {}, .op = op, .group = group, .payload = size};
      return group.size < 2 || table_.alike(key, group_copies(layout_, axes_, place, group));
    };
    const int split = expert_tensor(strategy_);
    return alike(CollectiveOp::all_to_all, {GroupAxis::plane, strategy_.experts.ranks, split}) &&
           alike(CollectiveOp::all_gather, {GroupAxis::plane, split, 1}) &&
           alike(CollectiveOp::all_reduce, expert_copies(strategy_));
  }

  /// To and from the host, or between two stages.
  bool copies_alike(const Place& place, Bytes size) {
    const auto alike = [&](GroupAxis axis, Stream way) {
      const CommKey key{way, CollectiveOp::send_recv, {axis}, 0, size};
      return table_.alike(key, group_copies(layout_, axes_, place, key.group));
    };
    const bool host = !uses_host(strategy_) || (alike(GroupAxis::host_memory, Stream::copy_out) &&
                                                alike(GroupAxis::host_memory, Stream::copy_in));
    const int keeper = keeper_of(strategy_, place.stage);
    if (keeper >= 0) {
      const auto copies = stage_copies(layout_, axes_, place, {place.stage, keeper});
      if (!table_.alike(CollectiveOp::send_recv, copies, size)) { return false; }
    }
    return host && (!uses_drives(strategy_) || (alike(GroupAxis::drive, Stream::copy_out) &&
                                                alike(GroupAxis::drive, Stream::copy_in)));
  }

  /// To the next stage and back; from the last one on only when chunks go round.
  bool messages_alike(const Place& place, Bytes size) {
    const bool last = place.stage + 1 == strategy_.pipeline;
    const bool round = shape_.placement == Placement::loop && shape_.chunks > 1;
    if (strategy_.pipeline == 1 || (last && !round)) { return true; }
    const int next = last ? 0 : place.stage + 1;
    const auto alike = [&](const std::vector<int>& pair) {
      const auto copies = stage_copies(layout_, axes_, place, pair);
      return table_.alike(CollectiveOp::send_recv, copies, size);
    };
    return alike({place.stage, next}) && alike({next, place.stage});
  }

  FoldedAxes axes_;
  const Strategy& strategy_;
  const std::vector<StagePlan>& stages_;
  const cost::Topology& topology_;
  CommTable& table_;
  Layout layout_;
  PipelineShape shape_;
};

/// The simulated index first, then, along a folded axis, the others.
std::vector<int> along(bool folded, int simulated, int size) {
  std::vector<int> indices{simulated};
  for (int i = 0; folded && i < size; ++i) {
    if (i != simulated) { indices.push_back(i); }
  }
  return indices;
}

}  // namespace

namespace {

/// Whether anything but tensor communication goes over the wires: a panel's owner sends it, others
/// receive, so that what it meets there tells the ranks of a grid apart.
bool has_other_traffic(const Strategy& s) { return s.pipeline > 1 || replica_count(s) > 1; }

}  // namespace

FoldedAxes foldable_axes(const Strategy& strategy, bool causal,
                         const std::vector<StagePlan>& stages, const cost::Topology& topology,
                         cost::Router& router) {
  CommTable table(topology, router, strategy);
  for (const FoldedAxes axes :
       {FoldedAxes{true, true}, FoldedAxes{true, false}, FoldedAxes{false, true}}) {
    if (axes.data && is_uneven(strategy, causal)) { continue; }
    if (axes.tensor && is_grid(strategy.grid) && has_other_traffic(strategy)) { continue; }
    if (AlikeCheck(axes, strategy, stages, topology, table).all_alike()) { return axes; }
  }
  return {};
}

PlaneGroup axes_of(const RankGroup& group, const Layout& layout) {
  if (group.axis == GroupAxis::plane) { return on_axes(group, layout.tensor()); }
  const RankGroup alone{group.axis};
  return {.tensor = group.axis == GroupAxis::tensor ? group : alone,
          .replica = group.axis == GroupAxis::replica ? group : alone};
}

GroupCopies group_copies(const Layout& layout, FoldedAxes folded, const Place& place,
                         const RankGroup& group) {
  const bool of_tensor = group.axis == GroupAxis::tensor;
  const PlaneGroup axes = axes_of(group, layout);
  // Along its own axes groups are counted, along the other one indices.
  const int tensors = group_count(axes.tensor, layout.tensor());
  const int replicas = group_count(axes.replica, layout.replicas());
  const int tensor = group_of(axes.tensor, place.tensor);
  const int replica = group_of(axes.replica, place.replica);
  GroupCopies copies;
  for (const int r : along(folded.data, replica, replicas)) {
    for (const int t : along(folded.tensor, tensor, tensors)) {
      copies.push_back(layout.ranks(group, of_tensor ? t : r, {t, r, place.stage}));
    }
  }
  return copies;
}

GroupCopies replica_copies(const Layout& layout, FoldedAxes folded, int tensor,
                           const std::vector<int>& stages) {
  GroupCopies copies;
  for (const int t : along(folded.tensor, tensor, layout.tensor())) {
    std::vector<int> group;
    for (const int stage : stages) {
      const std::vector<int> part = layout.replica_group(t, stage);
      group.insert(group.end(), part.begin(), part.end());
    }
    copies.push_back(std::move(group));
  }
  return copies;
}

GroupCopies stage_copies(const Layout& layout, FoldedAxes folded, const Place& place,
                         const std::vector<int>& stages) {
  const auto group_at = [&](int tensor, int replica) {
    std::vector<int> group(stages.size());
    std::transform(stages.begin(), stages.end(), group.begin(), [&](int stage) {
      return layout.rank({tensor, replica, stage});
    });
    return group;
  };
  const std::vector<int> tensors = along(folded.tensor, place.tensor, layout.tensor());
  const std::vector<int> replicas = along(folded.data, place.replica, layout.replicas());
  GroupCopies copies;
  copies.reserve(tensors.size() * replicas.size());
  for (const int d : replicas) {
    for (const int t : tensors) { copies.push_back(group_at(t, d)); }
  }
  return copies;
}

}  // namespace tsim::strategies
