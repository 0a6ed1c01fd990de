// Which symmetric ranks need to be simulated only once.
#pragma once

#include <vector>

#include "cost/topology.hpp"
#include "strategies/comm_table.hpp"
#include "strategies/layout.hpp"
#include "strategies/stage_plan.hpp"

namespace tsim::strategies {

/// Axes along which one rank stands for all.
struct FoldedAxes {
  bool tensor = false, data = false;
  bool operator==(const FoldedAxes&) const = default;
};

/// Folds an axis when devices along it are of one kind and every group's communications take the
/// same time along it: nothing then tells the copies apart.
/// `causal`: of the model's attention.
FoldedAxes foldable_axes(const Strategy& strategy, bool causal,
                         const std::vector<StagePlan>& stages, const cost::Topology& topology,
                         cost::Router& router);

/// A group as one along each axis; along an axis that is not its own every index is a group.
PlaneGroup axes_of(const RankGroup& group, const Layout& layout);

/// Device groups of a communication over `group`, for the simulated group that `place` is in first
/// and then, along folded axes, its copies.
GroupCopies group_copies(const Layout& layout, FoldedAxes folded, const Place& place,
                         const RankGroup& group);
/// Replicas of all `stages` together: of one, or of the two that hold the same parts.
GroupCopies replica_copies(const Layout& layout, FoldedAxes folded, int tensor,
                           const std::vector<int>& stages);
/// One rank in each of `stages`, at `place` otherwise.
GroupCopies stage_copies(const Layout& layout, FoldedAxes folded, const Place& place,
                         const std::vector<int>& stages);

}  // namespace tsim::strategies
