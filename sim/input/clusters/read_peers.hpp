// What links the devices of a node beside PCIe.
#pragma once

#include "cost/wiring/node_designs.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Adds NVSwitch planes and links between pairs to a node whose devices are known.
void read_peers(const Place& nvswitch, const Place& links, cost::NodeDesign& node);

}  // namespace tsim::sim
