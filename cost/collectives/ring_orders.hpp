// The rings of a collective over any devices.
#pragma once

#include <span>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost::collectives {

/// A closed walk through all devices, each once, but for those that only hand on a message between
/// two nodes whose NICs are on different rails that nothing joins.
using Ring = std::vector<int>;

/// As many rings as keep all NICs, or all direct links, of the nodes busy. Every ring carries the
/// same share. Inside a node they follow its local orders; they leave it by one NIC and enter the
/// next one by the NIC in the same place, so that they stay on their rails.
std::vector<Ring> ring_orders(std::span<const int> devices, Router& router);

}  // namespace tsim::cost::collectives
