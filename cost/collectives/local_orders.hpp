// In which order rings and chains go through the devices of one node.
#pragma once

#include <span>

#include "cost/topology.hpp"

namespace tsim::cost::collectives {

/// Rings over all `devices` of one node, so many that no direct link that could carry another one
/// lies idle, and a chain for trees. Found once for nodes of a kind.
/// Where all devices hang on one switch: the order given. Where links join them pair by pair:
/// disjoint rings over those links. Else one ring that loads the busiest channel least.
const Router::LocalOrders& local_orders(std::span<const int> devices, Router& router);

/// Disjoint closed walks through all of n places, each over arcs that are left: `arcs[i * n + j]`
/// tells how many go from i to j. As many as a bounded search finds.
std::vector<std::vector<int>> disjoint_rings(const std::vector<int>& arcs, int n);

}  // namespace tsim::cost::collectives
