// Nodes with host memory and drives, as small as a test needs.
#pragma once

#include "tests/sim/sample_scenarios.hpp"

namespace tsim::testing {

struct HostBox {
  int devices = 1;
  int sockets = 1;
  int per_switch = 0;                // devices under one PCIe switch; 0: each in a root port
  BytesPerSecond card = 10_GBps;     // of a device's slot and of a switch's uplink
  BytesPerSecond memory = 100_GBps;  // of each socket
  int drives = 0;
  BytesPerSecond drive = 2_GBps;
  Seconds latency{};
};

/// One node of ideal devices with NVLink and a PCIe tree, dealt evenly to the sockets.
inline cost::Cluster host_box(const HostBox& box) {
  cost::NodeDesign node;
  const cost::LinkSpec card{box.card, box.latency, true};
  for (int s = 0; s < box.sockets; ++s) { node.host.bridges.push_back(s); }
  node.host.memory = {box.memory, {}, false};
  const int per = box.per_switch > 0 ? box.per_switch : 1;
  for (int d = 0; d < box.devices; ++d) {
    const int bridge = d * box.sockets / box.devices;
    if (box.per_switch == 0) {
      node.devices.push_back({0, {cost::SlotAt::host_bridge, bridge, card}});
      continue;
    }
    if (d % per == 0) { node.host.switches.push_back({cost::SlotAt::host_bridge, bridge, card}); }
    node.devices.push_back({0, {cost::SlotAt::pcie_switch, d / per, card}});
  }
  for (int i = 0; i < box.drives; ++i) {
    node.drives.push_back({cost::SlotAt::host_bridge, i % box.sockets, {box.drive, {}, true}});
  }
  node.peers.planes = {{300_GBps, {}, true}};
  return cost::build_cluster({"box", {ideal_a100()}, {{node, 1}}});
}

/// sample() on such a node; world size devices.
inline sim::Scenario host_sample(std::string_view model, Degrees degrees, HostBox box,
                                 std::int64_t global_batch, std::int64_t micro_batch) {
  sim::Scenario s = sample(model, degrees, global_batch, micro_batch);
  box.devices = world_size(s.strategy);
  s.cluster = host_box(box);
  return s;
}

}  // namespace tsim::testing
