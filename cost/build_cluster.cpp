#include "cost/build_cluster.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

void wire_direct(NodeDesign& node, const NodeWiring& w) {
  node.peers.lane = {w.bandwidth, w.latency, true};
  for (int i = 0; i < static_cast<int>(node.devices.size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(node.devices.size()); ++j) {
      node.peers.pairs.push_back({i, j, 1});
    }
  }
}

void wire_pcie(NodeDesign& node, const NodeWiring& w) {
  const int count = static_cast<int>(node.devices.size());
  const int per_switch = w.devices_per_switch > 0 ? std::min(w.devices_per_switch, count) : count;
  const int switches = (count + per_switch - 1) / per_switch;
  const BytesPerSecond uplink = w.uplink_bandwidth.value > 0 ? w.uplink_bandwidth : w.bandwidth;
  const bool bridged = switches > 1;
  if (bridged) { node.host.bridges = {0}; }
  for (int s = 0; s < switches; ++s) {
    node.host.switches.push_back(
        {bridged ? SlotAt::host_bridge : SlotAt::none, 0, {uplink, w.host_latency / 2, true}});
  }
  for (int i = 0; i < count; ++i) {
    node.devices[index(i)].slot = {
        SlotAt::pcie_switch, i / per_switch, {w.bandwidth, w.latency / 2, true}};
  }
}

/// NIC of device i of n is floor(i k / n), for k <= n.
void wire_nics(NodeDesign& node, const NetworkWiring& w) {
  const int devices = static_cast<int>(node.devices.size());
  const int count = std::min(w.nics_per_node, devices);
  for (int n = 0; n < count; ++n) {
    const int bonded = w.nics_per_node / count + (n < w.nics_per_node % count ? 1 : 0);
    node.nics.push_back({{}, {(w.efficiency * bonded) * w.bandwidth, w.latency / 2, true}, {}});
  }
  for (int i = devices - 1; i >= 0; --i) {
    NicDesign& nic = node.nics[index(static_cast<int>(std::int64_t{i} * count / devices))];
    nic.serves.insert(nic.serves.begin(), i);
    nic.slot = node.devices[index(i)].slot;  // in the end that of the first device it serves
    nic.slot.link = {};
  }
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"nvswitch", "pcie", "direct"};
  return kNames[static_cast<std::size_t>(kind)];
}

ClusterDesign design_of(const ClusterSpec& spec) {
  assert(spec.nodes >= 1 && spec.devices_per_node >= 1 && spec.network.nics_per_node >= 1);
  NodeDesign node;
  node.devices.resize(index(spec.devices_per_node));
  switch (spec.node.kind) {
    case NodeKind::nvswitch:
      node.peers.planes = {{spec.node.bandwidth, spec.node.latency / 2, true}};
      node.peers.reduces = spec.node.in_switch_reduction;
      break;
    case NodeKind::pcie: wire_pcie(node, spec.node); break;
    case NodeKind::direct: wire_direct(node, spec.node); break;
  }
  if (spec.nodes > 1) { wire_nics(node, spec.network); }
  return {spec.name, {spec.device}, {{std::move(node), spec.nodes}}, {}, spec.tuning};
}

namespace {

/// A link from each NIC of a node to the fabric, dealt to its ports in turn.
void plug_in(Topology& t, const NodeDesign& node, const BuiltNode& built,
             const std::vector<VertexId>& ports) {
  for (std::size_t n = 0; n < built.nics.size(); ++n) {
    const LinkSpec& wire = node.nics[n].wire;
    t.links.push_back({LinkKind::nic, built.nics[n], ports[n % ports.size()], wire.bandwidth,
                       wire.latency, wire.full_duplex, wire.lanes});
  }
}

}  // namespace

Cluster build_cluster(const ClusterSpec& spec) { return build_cluster(design_of(spec)); }

Cluster build_cluster(const ClusterDesign& design) {
  int nodes = 0;
  for (const NodeGroup& group : design.nodes) { nodes += group.count; }
  assert(nodes >= 1);
  Cluster cluster{design.name,
                  design.devices,
                  {},
                  nodes,
                  static_cast<int>(design.nodes[0].node.devices.size())};
  Topology& t = cluster.topology;
  t.tuning = design.tuning;
  FabricPorts ports;
  if (nodes > 1) { ports = build_fabric(t, design.fabric, nodes); }
  int number = 0;
  for (std::size_t kind = 0; kind < design.nodes.size(); ++kind) {
    const NodeGroup& group = design.nodes[kind];
    const std::vector<int> nic_of = nic_of_devices(group.node);
    for (int i = 0; i < group.count; ++i, ++number) {
      const BuiltNode built = build_node(t, group.node, number);
      for (const int nic : nic_of) {
        t.device_nic.push_back(nic < 0 ? -1 : built.nics[index(nic)]);
      }
      t.node_kind.push_back(static_cast<std::int32_t>(kind));
      if (nodes > 1) { plug_in(t, group.node, built, ports[index(number)]); }
    }
  }
  finish(t);
  return cluster;
}

}  // namespace tsim::cost
