// From the few figures that describe a cluster to its full wiring.
#pragma once

#include <string_view>

#include "cost/topology.hpp"

namespace tsim::cost {

enum class NodeKind : std::uint8_t { nvswitch, pcie, direct };
std::string_view name_of(NodeKind kind);

struct NodeWiring {
  NodeKind kind = NodeKind::nvswitch;
  BytesPerSecond bandwidth{};         // of one device's link, per direction
  Seconds latency{};                  // device to device, under one switch
  int devices_per_switch = 0;         // pcie: 0 puts all under one switch
  BytesPerSecond uplink_bandwidth{};  // pcie: switch to host bridge; zero means `bandwidth`
  Seconds host_latency{};             // pcie: added by crossing the host bridge
};

struct NetworkWiring {
  int nics_per_node = 1;
  BytesPerSecond bandwidth{};  // line rate of one NIC, per direction
  Seconds latency{};           // device to device across the network; a pcie tree's comes on top
  double efficiency = 1.0;     // share of the line rate that payload gets, (0, 1]
};

struct ClusterSpec {
  std::string name;
  Device device;
  int nodes = 1;
  int devices_per_node = 1;
  NodeWiring node;
  NetworkWiring network;
};

/// The cluster's vertices and links. A device reaches the network over its own path to its NIC (a
/// PCIe link of its own beside NVLink; the shared PCIe tree in a `pcie` node). NICs are dealt
/// evenly to the devices, neighbours first; where there are more NICs than devices, those of one
/// device are one NIC with the sum of their rates. The core between the nodes never limits, nor
/// does a NIC's host side. Counts >= 1, rates > 0 where used.
Cluster build_cluster(const ClusterSpec& spec);

}  // namespace tsim::cost
