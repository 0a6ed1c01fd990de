// The norm over all gradients, by which they are clipped.
#pragma once

#include <vector>

#include "strategies/layout.hpp"
#include "strategies/strategy.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// One fp32 number.
inline constexpr Bytes kNormSize{4};

/// Whether the optimizers of all ranks wait for it. Schedules that split the backward step first
/// and look at the norm afterwards [arXiv:2401.10241, sec. 4]; where every micro-batch is followed
/// by a step nothing is clipped.
bool waits_for_norm(const Strategy& strategy);

/// Ranks that add up their parts of the norm with those of `replica`: all that hold its model; with
/// sharded optimizer states all ranks, since each looks at its shard.
std::vector<int> norm_ranks(const Layout& layout, const Strategy& strategy, int replica);

/// The queue that it goes through on a rank.
Stream norm_stream(const Strategy& strategy);

}  // namespace tsim::strategies
