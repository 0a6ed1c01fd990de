#include "cost/wiring/node_designs.hpp"

#include <array>
#include <cassert>

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

NodeDesign nvswitch_design(int devices, const std::vector<LinkSpec>& planes) {
  NodeDesign node;
  node.devices.resize(index(devices));
  node.peers.planes = planes;
  return node;
}

NodeDesign all_to_all_design(int devices, const LinkSpec& lane) {
  NodeDesign node;
  node.devices.resize(index(devices));
  return with_linked_groups(std::move(node), devices, lane);
}

NodeDesign pcie_design(const PcieShape& shape) {
  NodeDesign node;
  for (int s = 0; s < shape.sockets; ++s) { node.host.bridges.push_back(s); }
  node.host.socket_link = shape.socket_link;
  node.host.memory = shape.memory;
  const int size = shape.devices_per_switch;
  const int switches = size > 0 ? (shape.devices + size - 1) / size : 0;
  for (int s = 0; s < switches; ++s) {
    const int socket = s * shape.sockets / switches;
    node.host.switches.push_back({SlotAt::host_bridge, socket, shape.uplink});
  }
  for (int i = 0; i < shape.devices; ++i) {
    const Slot slot =
        size > 0 ? Slot{SlotAt::pcie_switch, i / size, shape.card}
                 : Slot{SlotAt::host_bridge, i * shape.sockets / shape.devices, shape.card};
    node.devices.push_back({0, slot});
  }
  return node;
}

NodeDesign with_bridges(NodeDesign node, int lanes, const LinkSpec& lane) {
  node.peers.lane = lane;
  for (int i = 0; i + 1 < static_cast<int>(node.devices.size()); i += 2) {
    node.peers.pairs.push_back({i, i + 1, lanes});
  }
  return node;
}

NodeDesign with_linked_groups(NodeDesign node, int size, const LinkSpec& lane) {
  node.peers.lane = lane;
  const int devices = static_cast<int>(node.devices.size());
  for (int i = 0; i < devices; ++i) {
    for (int j = i + 1; j < devices && j / size == i / size; ++j) {
      node.peers.pairs.push_back({i, j, 1});
    }
  }
  return node;
}

NodeDesign with_cube_mesh(NodeDesign node, const LinkSpec& lane) {
  assert(node.devices.size() == 8);
  node.peers.lane = lane;
  constexpr std::array<std::array<int, 3>, 16> kLanes{{{0, 1, 1},
                                                       {0, 2, 1},
                                                       {0, 3, 2},
                                                       {0, 4, 2},
                                                       {1, 2, 2},
                                                       {1, 3, 1},
                                                       {1, 5, 2},
                                                       {2, 3, 2},
                                                       {2, 6, 1},
                                                       {3, 7, 1},
                                                       {4, 5, 1},
                                                       {4, 6, 1},
                                                       {4, 7, 2},
                                                       {5, 6, 2},
                                                       {5, 7, 1},
                                                       {6, 7, 2}}};
  for (const auto& [a, b, lanes] : kLanes) { node.peers.pairs.push_back({a, b, lanes}); }
  return node;
}

NodeDesign with_nic_beside(NodeDesign node, int device, const LinkSpec& wire) {
  Slot slot = node.devices[index(device)].slot;
  slot.link = {};
  node.nics.push_back({slot, wire, {}});
  return node;
}

}  // namespace tsim::cost
