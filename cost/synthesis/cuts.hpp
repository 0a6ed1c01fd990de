// Bounds of a collective's time from what must cross between sets of ranks.
#pragma once

#include <vector>

#include "cost/synthesis/bound.hpp"

namespace tsim::cost::synthesis {

/// By rank: whether it belongs.
using RankSet = std::vector<bool>;

/// Each rank, the ranks that the ways over a channel lead to, the ranks that they come from, and
/// the complements of all these: in this order, none twice, none empty or of all.
std::vector<RankSet> cut_sets(const Ways& ways);

/// Bytes per second that can enter a set of ranks at most: of channels that all ways into it use,
/// chosen to be few and slow.
double entry_rate(const Ways& ways, const RankSet& set);

/// The best bound by one set, or in an all-reduce by sets that divide the ranks.
LowerBound cut_bound(CollectiveOp op, double payload, const Ways& ways);

}  // namespace tsim::cost::synthesis
