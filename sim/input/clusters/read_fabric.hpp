// The network between nodes.
#pragma once

#include "cost/build_cluster.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The fabric at `place`, for nodes that are known; nothing is a network that never limits.
cost::Fabric read_fabric(const Place& place, const std::vector<cost::NodeGroup>& nodes);

}  // namespace tsim::sim
