// One run of a task graph with a SimGrid engine of its own.
#pragma once

#include <span>

#include "cost/topology.hpp"
#include "sim/replay.hpp"
#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// Replays `graph` with bandwidth shared where communications meet. SimGrid's engine and clock are
/// one for a process, so the run happens in a child process with a fresh one: a graph gives the
/// same bytes whatever was simulated before. (A SimGridNetwork run by this process itself moves the
/// clock that children inherit, and with it the last digits.) `channels` is the topology's whole
/// list. Throws Stuck, and std::runtime_error when the child does not end well.
Timeline simulate(const strategies::TaskGraph& graph, std::span<const cost::Channel> channels);

}  // namespace tsim::sim
