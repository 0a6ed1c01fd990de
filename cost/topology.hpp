// What is wired to what: devices, switches, NICs and host memory as vertices, links between them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/device.hpp"
#include "cost/tuning.hpp"
#include "models/units.hpp"

namespace tsim::cost {

enum class VertexKind : std::uint8_t {
  device,
  nvswitch,
  pcie_switch,
  host_bridge,
  host_memory,
  nic,
  network_switch,
  nvme,
  cpu  // the die of a socket: host bridges, memory and other sockets meet there
};
std::string_view name_of(VertexKind kind);

enum class LinkKind : std::uint8_t { nvlink, pcie, socket, memory, nic, fabric, other };
std::string_view name_of(LinkKind kind);

using VertexId = std::int32_t;
using ChannelId = std::int32_t;  // one direction of a link; a half-duplex link has one channel

/// A link that never limits (a switch core, a NIC's host side) has this bandwidth, and no channels:
/// it costs nothing in a simulation.
inline constexpr BytesPerSecond kUnlimited{std::numeric_limits<double>::infinity()};
inline constexpr ChannelId kNoChannel = -1;

struct Vertex {
  VertexKind kind{};
  std::string name;        // "node0/gpu3"
  std::int32_t node = -1;  // -1: outside every node (a network switch)
  std::string cores = {};  // of a cpu: "0-23,48-71" as its system numbers them; empty: not known
};

/// Both directions have `bandwidth` each when full duplex, else they share it.
struct Link {
  LinkKind kind{};
  VertexId a = 0, b = 0;
  BytesPerSecond bandwidth{};  // usable: signalling rate x lanes x protocol efficiency; > 0
  Seconds latency{};           // of one crossing
  bool full_duplex = true;
  int lanes = 1;  // links that are bundled in it; their sum is `bandwidth`
};

struct Channel {
  std::string name;  // "node0/gpu3 -> node0/nvswitch"
  BytesPerSecond bandwidth{};
  LinkKind kind{};
};

/// Channels in order of travel, and the sum of their latencies.
struct Path {
  std::vector<ChannelId> channels;
  Seconds latency{};
  bool operator==(const Path&) const = default;
};

/// Host memory that a device's messages pass through; -1: they need not.
struct Staging {
  VertexId peers = -1;  // to other devices of its node, but for those linked directly
  VertexId nic = -1;    // to other nodes
};

/// Routers of a torus: consecutive vertices, the first dimension varying fastest.
struct TorusRouters {
  std::vector<int> sizes;  // empty: there is no torus
  VertexId first = 0;
};

/// Ways that messages take whatever the graph would allow: up from the sender, between the places
/// of both, down to the receiver. For platforms whose routes no shortest path reproduces. Every
/// link in them is half duplex.
struct FixedRoutes {
  struct Way {
    std::vector<std::int32_t> links;
    Seconds latency{};  // beyond that of the links
    bool operator==(const Way&) const = default;
  };
  std::vector<std::vector<std::int32_t>> up, down;  // by device: links in order of travel
  std::vector<std::int32_t> place;                  // by device; empty: there are no fixed routes
  std::map<std::pair<std::int32_t, std::int32_t>, Way> between;
  bool operator==(const FixedRoutes&) const = default;
};

/// A cluster: its devices are numbered 0..n-1 node by node; rank r of a layout sits on device r
/// unless the scenario says otherwise.
struct Topology {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<Channel> channels;            // derived by finish()
  std::vector<ChannelId> forward_channel;   // by link: a -> b; kNoChannel for an unlimited one
  std::vector<ChannelId> backward_channel;  // by link: b -> a (the same one when half duplex)
  std::vector<VertexId> devices;            // vertex of device 0, 1, ...
  std::vector<VertexId> device_nic;         // by device: the NIC it leaves its node by, -1: any
  std::vector<Staging> device_staging;      // by device
  std::vector<VertexId> device_reducer;     // by device: the switch that adds what its devices
                                            // send to it (NVLink SHARP), -1: none
  std::vector<std::int32_t> device_kind;    // index in Cluster::devices, by device
  std::vector<std::int32_t> node_kind;      // by node: nodes of one kind are wired alike; -1: as
                                            // no other
  TorusRouters torus;
  FixedRoutes routes;
  Tuning tuning;  // of the library that runs on it
};

/// Fills the derived members of a topology whose vertices, links and devices are set. Missing
/// entries of device_nic, device_reducer and node_kind become -1, of device_kind 0.
void finish(Topology& topology);

/// Node of a device.
std::int32_t node_of(const Topology& topology, int device);

/// Two vertices that no path joins.
struct Unreachable {
  std::string from, to;
};

/// Least-cost paths, found once for each pair that is asked for and then remembered. A path
/// minimises the time of a 1 MiB message (latencies plus the slowest channel), prefers fewer hops,
/// and breaks ties by vertex number. Devices of one node talk inside it where they can; between
/// nodes each device uses its NIC, and equally good ways through the network are taken in turn, by
/// the number of the device that receives (as static routing in fat trees does, "d mod k").
/// A device is never passed through.
class Router {
 public:
  explicit Router(const Topology& topology);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  const Topology& topology() const;
  /// From one device to another; empty channels for a device to itself. Throws std::out_of_range
  /// for an unknown device and Unreachable where no path exists.
  const Path& path(int from_device, int to_device);
  /// The same between any two vertices (host memory, NVMe), by any way that the graph allows.
  const Path& vertex_path(VertexId from, VertexId to);
  /// The outer vertex by which a device's messages leave its node; -1 when they cannot.
  VertexId gateway(int device);

  /// Ring orders found for devices of one node (planners' memory, kept here since it holds as long
  /// as the paths do). Key: the node's kind, then the devices' places in the node.
  struct LocalOrders {
    std::vector<std::vector<int>> rings;  // positions in the list of devices
    std::vector<int> backbone{};  // a chain whose neighbours are close; empty: all are alike
    bool closed = true;           // whether its ends are neighbours too
    double lane = 0;              // of a chain over direct links without rings: bytes/s of the
                                  // thinnest of them
  };
  std::map<std::vector<int>, LocalOrders>& local_orders();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A whole cluster as a scenario states it.
struct Cluster {
  std::string name;
  std::vector<Device> devices;  // kinds of device present; usually one
  Topology topology;
  int nodes = 1;
  int devices_per_node = 1;  // of the first node
};

/// Devices in the cluster.
int device_count(const Cluster& cluster);

}  // namespace tsim::cost
