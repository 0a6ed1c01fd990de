// What keeps a cluster's design from being built.
#include <algorithm>
#include <string>

#include "cost/build_cluster.hpp"

namespace tsim::cost {
namespace {

int count(const auto& list) { return static_cast<int>(list.size()); }

/// Collects the problems of one thing after another, each named by where it is.
class Check {
 public:
  std::vector<std::string> found;

  bool index(const std::string& where, int i, int size) {
    if (i >= 0 && i < size) { return true; }
    found.push_back(where + ": index " + std::to_string(i) + " of " + std::to_string(size));
    return false;
  }
  void positive(const std::string& where, int n) {
    if (n < 1) { found.push_back(where + ": " + std::to_string(n) + ", expected at least 1"); }
  }
  void link(const std::string& where, const LinkSpec& spec) {
    if (!(spec.bandwidth.value > 0)) { found.push_back(where + ": a link without bandwidth"); }
    if (!(spec.latency.value >= 0)) { found.push_back(where + ": a link of negative latency"); }
  }

  /// `switches`: how many PCIe switches a slot may refer to.
  void slot(const std::string& where, const Slot& slot, const NodeDesign& node, int switches) {
    switch (slot.at) {
      case SlotAt::none: return;
      case SlotAt::pcie_switch: index(where + ", PCIe switch", slot.index, switches); break;
      case SlotAt::host_bridge:
        index(where + ", host bridge", slot.index, count(node.host.bridges));
        break;
      case SlotAt::device: index(where + ", device", slot.index, count(node.devices)); break;
    }
    link(where, slot.link);
  }
};

void check_peers(Check& check, const std::string& name, const NodeDesign& node) {
  for (const LinkSpec& plane : node.peers.planes) { check.link(name + "NVSwitch plane", plane); }
  if (!node.peers.pairs.empty()) { check.link(name + "lane", node.peers.lane); }
  for (const PeerLink& pair : node.peers.pairs) {
    const std::string where =
        name + "pair " + std::to_string(pair.a) + "-" + std::to_string(pair.b);
    check.index(where, pair.a, count(node.devices));
    check.index(where, pair.b, count(node.devices));
    check.positive(where + ", lanes", pair.lanes);
    if (pair.a == pair.b) { check.found.push_back(where + ": a device linked to itself"); }
  }
}

void check_host(Check& check, const std::string& name, const NodeDesign& node) {
  for (int i = 0; i < count(node.host.bridges); ++i) {
    check.index(name + "host bridge " + std::to_string(i) + ", socket", node.host.bridges[i],
                count(node.host.bridges));
  }
  for (int i = 0; i < count(node.host.switches); ++i) {
    check.slot(name + "PCIe switch " + std::to_string(i), node.host.switches[i], node, i);
    if (node.host.switches[i].at == SlotAt::device) {
      check.found.push_back(name + "PCIe switch " + std::to_string(i) + ": plugged into a device");
    }
  }
  check.link(name + "host bridge", node.host.bridge);
  check.link(name + "socket link", node.host.socket_link);
  const bool staged = !node.host.peer_access || !node.host.nic_access;
  if (staged && !(node.host.memory.bandwidth.value > 0)) {
    check.found.push_back(name + "messages go through host memory, which there is none of");
  }
}

bool linked(const NodeDesign& node, int device) {
  const auto serves = [&](const NicDesign& nic) {
    return std::ranges::count(nic.serves, device) > 0;
  };
  return !node.peers.planes.empty() || node.devices[device].slot.at != SlotAt::none ||
         std::ranges::any_of(node.peers.pairs,
                             [&](const PeerLink& p) { return p.a == device || p.b == device; }) ||
         std::ranges::any_of(node.nics, serves);
}

void check_device(Check& check, const std::string& where, const NodeDesign& node, int i) {
  const Slot& slot = node.devices[i].slot;
  check.slot(where, slot, node, count(node.host.switches));
  if (slot.at == SlotAt::device && slot.index >= i) {  // nor round in a circle
    check.found.push_back(where + ": plugged into a device that is not before it");
  }
  const bool staged = !node.host.peer_access || !node.host.nic_access;
  if (staged && slot.at == SlotAt::none) {
    check.found.push_back(where + ": not in a slot, from which it could reach host memory");
  }
  if (node.devices.size() > 1 && !linked(node, i)) {
    check.found.push_back(where + ": linked to nothing");
  }
}

void check_node(Check& check, const std::string& name, const NodeDesign& node, int kinds) {
  if (node.devices.empty()) { check.found.push_back(name + "no devices"); }
  for (int i = 0; i < count(node.devices); ++i) {
    const std::string where = name + "device " + std::to_string(i);
    check.index(where + ", kind", node.devices[i].kind, kinds);
    check_device(check, where, node, i);
  }
  check_peers(check, name, node);
  check_host(check, name, node);
  for (int i = 0; i < count(node.nics); ++i) {
    const std::string where = name + "NIC " + std::to_string(i);
    check.slot(where, node.nics[i].slot, node, count(node.host.switches));
    check.link(where + ", wire", node.nics[i].wire);
    for (const int d : node.nics[i].serves) {
      check.index(where + ", device served", d, count(node.devices));
    }
  }
  for (int i = 0; i < count(node.drives); ++i) {
    check.slot(name + "drive " + std::to_string(i), node.drives[i], node,
               count(node.host.switches));
  }
}

void check_fabric(Check& check, const TreeFabric& fabric) {
  check.positive("network, rails", fabric.rails);
  for (const TreeLevel& level : fabric.levels) {
    check.positive("network level, children", level.children);
    check.positive("network level, parents", level.parents);
    check.link("network level", level.link);
  }
}

void check_fabric(Check& check, const Dragonfly& d) {
  check.positive("dragonfly, groups", d.groups);
  check.positive("dragonfly, routers", d.routers);
  check.positive("dragonfly, nodes per router", d.nodes_per_router);
  check.link("dragonfly, local link", d.local);
  check.link("dragonfly, global link", d.global);
}

void check_fabric(Check& check, const Torus& torus) {
  check.positive("torus, dimensions", count(torus.sizes));
  for (const int size : torus.sizes) { check.positive("torus, size", size); }
  check.positive("torus, nodes per router", torus.nodes_per_router);
  check.link("torus link", torus.link);
}

}  // namespace

std::vector<std::string> problems(const ClusterDesign& design) {
  Check check;
  std::int64_t nodes = 0;
  for (std::size_t g = 0; g < design.nodes.size(); ++g) {
    const NodeGroup& group = design.nodes[g];
    const std::string name =
        (group.node.name.empty() ? "node group " + std::to_string(g) : group.node.name) + ": ";
    check.positive(name + "count", group.count);
    check_node(check, name, group.node, count(design.devices));
    nodes += group.count;
  }
  check.positive("nodes", static_cast<int>(nodes));
  std::visit([&](const auto& fabric) { check_fabric(check, fabric); }, design.fabric);
  if (!check.found.empty()) { return check.found; }
  if (nodes > capacity(design.fabric)) {
    check.found.push_back("network: room for " + std::to_string(capacity(design.fabric)) +
                          " nodes, there are " + std::to_string(nodes));
  }
  for (const NodeGroup& group : design.nodes) {
    const std::vector<int> nics = nic_of_devices(group.node);
    for (int i = 0; nodes > 1 && i < count(nics); ++i) {
      if (nics[i] >= 0) { continue; }
      check.found.push_back(group.node.name + ": device " + std::to_string(i) +
                            " reaches no NIC, and there are " + std::to_string(nodes) + " nodes");
    }
  }
  return check.found;
}

}  // namespace tsim::cost
