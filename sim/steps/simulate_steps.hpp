// One run of a task graph with every collective step by step.
#pragma once

#include "cost/topology.hpp"
#include "sim/replay.hpp"
#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// Replays `graph`, whose communications all stand for themselves (no folded copies), in this
/// process. A communication whose algorithm has no steps (cost::program_on) runs as its flows, all
/// at once. Throws Stuck, and std::runtime_error when the communications have more steps than
/// memory is likely to hold.
Timeline simulate_steps(const strategies::TaskGraph& graph, cost::Router& router);

}  // namespace tsim::sim
