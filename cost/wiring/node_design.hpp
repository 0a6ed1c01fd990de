// What is inside a node: devices, NICs and drives in slots of a PCIe tree, and what links devices
// beside it.
#pragma once

#include <string>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

/// The figures of one link. Unlimited unless given.
struct LinkSpec {
  BytesPerSecond bandwidth = kUnlimited;  // per direction when full duplex, else for both
  Seconds latency{};                      // of one crossing
  bool full_duplex = true;
  int lanes = 1;  // links that are bundled in it; `bandwidth` is of all of them
  bool operator==(const LinkSpec&) const = default;
};

/// Where a card or a switch is plugged in, and by what link. `none`: not wired by PCIe.
enum class SlotAt : std::uint8_t { none, pcie_switch, host_bridge, device };
struct Slot {
  SlotAt at = SlotAt::none;
  int index = 0;  // of the switch, bridge or device in its node
  LinkSpec link{};
  bool operator==(const Slot&) const = default;
};

struct DeviceDesign {
  int kind = 0;  // index in ClusterDesign::devices
  Slot slot{};
  bool operator==(const DeviceDesign&) const = default;
};

struct NicDesign {
  Slot slot{};
  LinkSpec wire{};  // to the network; several ports of one card add up
  std::vector<int>
      serves;  // devices that leave by it; when empty in all NICs, the nearest is dealt
  bool operator==(const NicDesign&) const = default;
};

/// Links between two devices; lanes add up.
struct PeerLink {
  int a = 0, b = 0;
  int lanes = 1;
  bool operator==(const PeerLink&) const = default;
};

struct PeerDesign {
  std::vector<LinkSpec> planes;  // of every device, one to each NVSwitch plane; traffic is striped
                                 // over the planes, so that they act as one of their summed rate
  bool reduces = false;          // the switch adds what devices send to it (NVLink SHARP)
  std::vector<PeerLink> pairs;
  LinkSpec lane{};  // of `pairs`
  bool operator==(const PeerDesign&) const = default;
};

struct HostDesign {
  std::vector<int> bridges;    // by host bridge (root complex): its socket
  std::vector<Slot> switches;  // PCIe switches, each in a slot of a bridge or of an earlier switch
  LinkSpec bridge{};           // bridge to its socket's die; crossed between bridges and to memory
  LinkSpec memory{BytesPerSecond{0}, {}, false};  // of each socket to its DRAM; rate 0: left out
  LinkSpec socket_link{};                         // between every two sockets (UPI, QPI, xGMI)
  bool peer_access = true;         // false: devices reach each other through host memory only
  bool nic_access = true;          // false: devices reach NICs through host memory only
  std::vector<std::string> cores;  // by socket: "0-23,48-71"; empty: not known
  bool operator==(const HostDesign&) const = default;
};

struct NodeDesign {
  std::string name;
  std::vector<DeviceDesign> devices;
  PeerDesign peers;
  HostDesign host;
  std::vector<NicDesign> nics;
  std::vector<Slot> drives;  // NVMe
  bool operator==(const NodeDesign&) const = default;
};

/// The vertices of a node that was added to a topology, by their index in the design.
struct BuiltNode {
  std::vector<VertexId> devices, nics;
};

/// Adds one node. Its NICs are left without their wires to the network.
/// Indices must exist, and host memory where access goes through it.
BuiltNode build_node(Topology& topology, const NodeDesign& design, int number);

/// By device: the NIC that it leaves its node by; -1 when there is none that it reaches. As the
/// design says, or else the nearest (by the time of a 1 MiB message), equally near ones dealt
/// evenly.
std::vector<int> nic_of_devices(const NodeDesign& design);

}  // namespace tsim::cost
