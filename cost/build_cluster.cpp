#include "cost/build_cluster.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

namespace tsim::cost {
namespace {

VertexId add_vertex(Topology& t, VertexKind kind, std::string name, int node) {
  t.vertices.push_back({kind, std::move(name), node});
  return static_cast<VertexId>(t.vertices.size() - 1);
}

/// A node under construction: its prefix, its devices, and where each of them finds a NIC.
struct Node {
  int number = 0;
  std::string prefix;  // "node3/"
  std::vector<VertexId> devices;
  std::vector<VertexId> nic_host;  // by device: the vertex that its NIC is plugged into
};

void wire_nvswitch(Topology& t, Node& node, const NodeWiring& w) {
  if (node.devices.size() < 2) { return; }
  const VertexId hub = add_vertex(t, VertexKind::nvswitch, node.prefix + "nvswitch", node.number);
  for (const VertexId device : node.devices) {
    t.links.push_back({LinkKind::nvlink, device, hub, w.bandwidth, w.latency / 2, true});
  }
}

void wire_direct(Topology& t, Node& node, const NodeWiring& w) {
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    for (std::size_t j = i + 1; j < node.devices.size(); ++j) {
      t.links.push_back(
          {LinkKind::nvlink, node.devices[i], node.devices[j], w.bandwidth, w.latency, true});
    }
  }
}

void wire_pcie(Topology& t, Node& node, const NodeWiring& w) {
  const int count = static_cast<int>(node.devices.size());
  const int per_switch = w.devices_per_switch > 0 ? std::min(w.devices_per_switch, count) : count;
  const int switches = (count + per_switch - 1) / per_switch;
  const BytesPerSecond uplink = w.uplink_bandwidth.value > 0 ? w.uplink_bandwidth : w.bandwidth;
  const VertexId bridge =
      switches > 1 ? add_vertex(t, VertexKind::host_bridge, node.prefix + "host", node.number) : -1;
  for (int s = 0; s < switches; ++s) {
    const VertexId hub = add_vertex(t, VertexKind::pcie_switch,
                                    node.prefix + "pcie" + std::to_string(s), node.number);
    for (int i = s * per_switch; i < std::min((s + 1) * per_switch, count); ++i) {
      const auto d = static_cast<std::size_t>(i);
      t.links.push_back({LinkKind::pcie, node.devices[d], hub, w.bandwidth, w.latency / 2, true});
      node.nic_host[d] = hub;
    }
    if (bridge >= 0) {
      t.links.push_back({LinkKind::pcie, hub, bridge, uplink, w.host_latency / 2, true});
    }
  }
}

/// Deals NICs to devices: NIC of device i of n is floor(i k / n), for k <= n.
void wire_nics(Topology& t, const Node& node, const NetworkWiring& w, VertexId core) {
  const int devices = static_cast<int>(node.devices.size());
  const int count = std::min(w.nics_per_node, devices);
  int given = -1;
  for (int i = 0; i < devices; ++i) {
    const auto d = static_cast<std::size_t>(i);
    const int n = static_cast<int>(static_cast<std::int64_t>(i) * count / devices);
    if (n > given) {
      given = n;
      const int bonded = w.nics_per_node / count + (n < w.nics_per_node % count ? 1 : 0);
      const VertexId nic =
          add_vertex(t, VertexKind::nic, node.prefix + "nic" + std::to_string(n), node.number);
      const BytesPerSecond rate = (w.efficiency * bonded) * w.bandwidth;
      t.links.push_back({LinkKind::nic, nic, core, rate, w.latency / 2, true});
      t.links.push_back({LinkKind::pcie, node.nic_host[d], nic, kUnlimited, Seconds{}, true});
    } else if (node.nic_host[d] == node.devices[d]) {
      const VertexId nic = t.device_nic.back();
      t.links.push_back({LinkKind::pcie, node.devices[d], nic, kUnlimited, Seconds{}, true});
    }
    t.device_nic.push_back(static_cast<VertexId>(t.vertices.size() - 1));
  }
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"nvswitch", "pcie", "direct"};
  return kNames[static_cast<std::size_t>(kind)];
}

Cluster build_cluster(const ClusterSpec& spec) {
  assert(spec.nodes >= 1 && spec.devices_per_node >= 1 && spec.network.nics_per_node >= 1);
  Cluster cluster{spec.name, {spec.device}, {}, spec.nodes, spec.devices_per_node};
  Topology& t = cluster.topology;
  const VertexId core =
      spec.nodes > 1 ? add_vertex(t, VertexKind::network_switch, "network", -1) : -1;
  for (int n = 0; n < spec.nodes; ++n) {
    Node node{n, "node" + std::to_string(n) + "/", {}, {}};
    for (int i = 0; i < spec.devices_per_node; ++i) {
      node.devices.push_back(
          add_vertex(t, VertexKind::device, node.prefix + "gpu" + std::to_string(i), n));
    }
    node.nic_host = node.devices;
    switch (spec.node.kind) {
      case NodeKind::nvswitch:
        wire_nvswitch(t, node, spec.node);
        break;
      case NodeKind::pcie:
        wire_pcie(t, node, spec.node);
        break;
      case NodeKind::direct:
        wire_direct(t, node, spec.node);
        break;
    }
    t.devices.insert(t.devices.end(), node.devices.begin(), node.devices.end());
    if (core >= 0) { wire_nics(t, node, spec.network, core); }
  }
  finish(t);
  return cluster;
}

}  // namespace tsim::cost
