// From the few figures that describe a cluster, or from the design of each part, to its full
// wiring.
#pragma once

#include <string_view>

#include "cost/topology.hpp"
#include "cost/wiring/fabric.hpp"
#include "cost/wiring/node_design.hpp"

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
  bool in_switch_reduction = false;   // nvswitch: it adds what devices send to it
};

struct NetworkWiring {
  int nics_per_node = 1;
  BytesPerSecond bandwidth{};  // line rate of one NIC, per direction
  Seconds latency{};           // device to device across the network; a pcie tree's comes on top
  double efficiency = 1.0;     // share of the line rate that payload gets, (0, 1]
};

/// The simple form: equal nodes and a network that never limits.
struct ClusterSpec {
  std::string name;
  Device device;
  int nodes = 1;
  int devices_per_node = 1;
  NodeWiring node;
  NetworkWiring network;
  Tuning tuning;
};

/// Nodes of one design, one after the other.
struct NodeGroup {
  NodeDesign node;
  int count = 1;
  bool operator==(const NodeGroup&) const = default;
};

/// The general form: any nodes in any network.
struct ClusterDesign {
  std::string name;
  std::vector<Device> devices;  // kinds, which the nodes' designs refer to
  std::vector<NodeGroup> nodes;
  Fabric fabric{};
  Tuning tuning{};
};

/// What keeps a design from being built, one phrase each: indices that do not exist, rates that are
/// not positive, more nodes than the fabric has room for, devices of several that have no link,
/// devices without a NIC in a cluster of several nodes. Devices that no path joins are found when a
/// message is sent between them.
std::vector<std::string> problems(const ClusterDesign& design);

/// The cluster's vertices and links. Links that never limit (a switch core, a NIC's host side) have
/// no channels. The design has no problems.
Cluster build_cluster(const ClusterDesign& design);

/// The design behind the simple form. A device reaches the network over its own path to its NIC (a
/// PCIe link of its own beside NVLink; the shared PCIe tree in a `pcie` node). NICs are dealt
/// evenly to the devices, neighbours first; where there are more NICs than devices, those of one
/// device are one NIC with the sum of their rates. Counts >= 1, rates > 0 where used.
ClusterDesign design_of(const ClusterSpec& spec);
Cluster build_cluster(const ClusterSpec& spec);

}  // namespace tsim::cost
