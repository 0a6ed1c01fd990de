// Memory of a rank over time, read off a replayed graph.
#pragma once

#include <array>
#include <vector>

#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

using MemoryByClass = std::array<Bytes, strategies::kMemoryClasses>;

Bytes total(const MemoryByClass& memory);

/// What a rank holds from `time` on, until the next point.
struct MemoryPoint {
  double time = 0;  // seconds from the start of the iteration
  MemoryByClass held{};
};

/// The most that a rank ever holds, and of what it consists then.
struct MemoryPeak {
  Bytes peak;
  double time = 0;  // the first instant at which it is held
  MemoryByClass at_peak{};
  MemoryByClass at_end{};  // after the last task
};

/// One point at time 0 and one for each instant at which something changes. At an instant, what is
/// freed is freed before anything is allocated. A communication's effect counts on all its members.
std::vector<MemoryPoint> memory_trace(const strategies::TaskGraph& graph, const Timeline& timeline,
                                      std::uint32_t rank);

/// Peaks of all ranks, in their order.
std::vector<MemoryPeak> memory_peaks(const strategies::TaskGraph& graph, const Timeline& timeline);

}  // namespace tsim::sim
