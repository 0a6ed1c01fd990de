// How each rank spends the step.
#pragma once

#include <vector>

#include "sim/report/report.hpp"

namespace tsim::sim {

/// By simulated rank: busy + exposed + idle = makespan.
std::vector<RankTimes> rank_times(const strategies::TaskGraph& graph, const Timeline& timeline);

/// Simulated ranks that take part in a task.
std::span<const std::uint32_t> members(const strategies::TaskGraph& graph,
                                       const strategies::Task& task);

}  // namespace tsim::sim
