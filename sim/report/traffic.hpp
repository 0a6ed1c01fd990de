// What the traffic of each kind of group crosses.
#pragma once

#include <span>
#include <vector>

#include "cost/topology.hpp"
#include "sim/report/report.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// A row for every stream that moves bytes between devices, in the order of the streams. Links that
/// never limit are in no path, so that traffic over them crosses nothing.
std::vector<TrafficRow> traffic(const strategies::TaskGraph& graph,
                                std::span<const cost::Channel> channels);

}  // namespace tsim::sim
