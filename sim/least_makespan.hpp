// How long a graph's tasks take at least.
#pragma once

#include <span>

#include "sim/comm_load.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// A time in seconds that the run lasts at least: of the busiest rank, of the busiest channel that
/// is shared, of the longest communication.
double least_makespan(const strategies::TaskGraph& graph, const CommLoads& loads,
                      std::span<const cost::Channel> channels);

/// Bytes of the largest flow that may meet others.
double largest_flow(const CommLoads& loads);

/// The power of two that brings `value` into [low, 2 low): exact to multiply and divide by.
double scale_to(double low, double value);

}  // namespace tsim::sim
