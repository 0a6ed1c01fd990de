#include <algorithm>
#include <cassert>
#include <optional>

#include "cost/routing/graph_search.hpp"
#include "cost/wiring/node_design.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Adds a node's vertices in the order in which later ones refer to earlier ones.
class NodeBuilder {
 public:
  NodeBuilder(Topology& t, const NodeDesign& design, int number)
      : t_(t), design_(design), number_(number), prefix_("node" + std::to_string(number) + "/") {}

  VertexId reducer() const { return reducer_; }

  BuiltNode build() {
    for (std::size_t i = 0; i < design_.devices.size(); ++i) {
      built_.devices.push_back(vertex(VertexKind::device, "gpu", i));
    }
    add_host();
    add_peers();
    for (std::size_t i = 0; i < design_.devices.size(); ++i) {
      plug(built_.devices[i], design_.devices[i].slot);
    }
    for (std::size_t i = 0; i < design_.nics.size(); ++i) { add_nic(i); }
    for (std::size_t i = 0; i < design_.drives.size(); ++i) {
      plug(vertex(VertexKind::nvme, "nvme", i), design_.drives[i]);
    }
    return std::move(built_);
  }

  /// Host memory nearest to a device: of the socket that its slot belongs to.
  VertexId memory_of(const Slot& slot) const {
    if (slot.at == SlotAt::device) { return memory_of(design_.devices[index(slot.index)].slot); }
    if (slot.at == SlotAt::pcie_switch) {
      return memory_of(design_.host.switches[index(slot.index)]);
    }
    assert(slot.at == SlotAt::host_bridge && !memories_.empty());
    return memories_[index(design_.host.bridges[index(slot.index)])];
  }

 private:
  VertexId vertex(VertexKind kind, const std::string& name, std::size_t i) {
    t_.vertices.push_back({kind, prefix_ + name + std::to_string(i), number_});
    return static_cast<VertexId>(t_.vertices.size() - 1);
  }

  void link(LinkKind kind, VertexId a, VertexId b, const LinkSpec& spec) {
    t_.links.push_back({kind, a, b, spec.bandwidth, spec.latency, spec.full_duplex, spec.lanes});
  }

  void plug(VertexId card, const Slot& slot) {
    switch (slot.at) {
      case SlotAt::none: return;
      case SlotAt::pcie_switch:
        link(LinkKind::pcie, card, switches_[index(slot.index)], slot.link);
        return;
      case SlotAt::host_bridge:
        link(LinkKind::pcie, card, bridges_[index(slot.index)], slot.link);
        return;
      case SlotAt::device:
        link(LinkKind::pcie, card, built_.devices[index(slot.index)], slot.link);
        return;
    }
  }

  void add_host() {
    const HostDesign& host = design_.host;
    for (std::size_t i = 0; i < host.bridges.size(); ++i) {
      bridges_.push_back(vertex(VertexKind::host_bridge, "host", i));
    }
    for (std::size_t i = 0; i < host.switches.size(); ++i) {
      switches_.push_back(vertex(VertexKind::pcie_switch, "pcie", i));
      plug(switches_.back(), host.switches[i]);
    }
    if (host.bridges.empty()) { return; }
    const bool memory = host.memory.bandwidth.value > 0;
    const int sockets = *std::ranges::max_element(host.bridges) + 1;
    // A die that nothing crosses, and of which nothing is known, is left out.
    if (host.bridges.size() == 1 && !memory && host.cores.empty()) { return; }
    std::vector<VertexId> dies;
    for (int s = 0; s < sockets; ++s) {
      dies.push_back(vertex(VertexKind::cpu, "cpu", index(s)));
      if (index(s) < host.cores.size()) { t_.vertices.back().cores = host.cores[index(s)]; }
      for (int other = 0; other < s; ++other) {
        link(LinkKind::socket, dies[index(other)], dies.back(), host.socket_link);
      }
      if (!memory) { continue; }
      memories_.push_back(vertex(VertexKind::host_memory, "dram", index(s)));
      link(LinkKind::memory, dies.back(), memories_.back(), host.memory);
    }
    for (std::size_t i = 0; i < host.bridges.size(); ++i) {
      link(LinkKind::other, bridges_[i], dies[index(host.bridges[i])], host.bridge);
    }
  }

  void add_peers() {
    const PeerDesign& peers = design_.peers;
    if (!peers.planes.empty() && built_.devices.size() > 1) {
      LinkSpec all{BytesPerSecond{0}, {}, peers.planes[0].full_duplex, 0};
      for (const LinkSpec& plane : peers.planes) {
        all.bandwidth += plane.bandwidth;
        all.latency = std::max(all.latency, plane.latency);
        all.lanes += plane.lanes;
      }
      t_.vertices.push_back({VertexKind::nvswitch, prefix_ + "nvswitch", number_});
      const auto hub = static_cast<VertexId>(t_.vertices.size() - 1);
      if (peers.reduces) { reducer_ = hub; }
      for (const VertexId device : built_.devices) { link(LinkKind::nvlink, device, hub, all); }
    }
    for (const PeerLink& pair : peers.pairs) {
      LinkSpec bundle = peers.lane;
      bundle.bandwidth = pair.lanes * bundle.bandwidth;
      bundle.lanes *= pair.lanes;
      link(LinkKind::nvlink, built_.devices[index(pair.a)], built_.devices[index(pair.b)], bundle);
    }
  }

  void add_nic(std::size_t i) {
    const NicDesign& nic = design_.nics[i];
    built_.nics.push_back(vertex(VertexKind::nic, "nic", i));
    plug(built_.nics.back(), nic.slot);
    if (nic.slot.at != SlotAt::none) { return; }
    for (const int device : nic.serves) {
      link(LinkKind::pcie, built_.devices[index(device)], built_.nics.back(), nic.slot.link);
    }
  }

  Topology& t_;
  const NodeDesign& design_;
  int number_;
  std::string prefix_;
  BuiltNode built_;
  std::vector<VertexId> bridges_, switches_, memories_;
  VertexId reducer_ = -1;
};

/// Deals equally near NICs evenly: the one with the fewest devices so far, then the first.
std::vector<int> deal(const std::vector<std::vector<double>>& distance) {
  std::vector<int> chosen, load;
  for (const std::vector<double>& to : distance) {
    load.resize(to.size(), 0);
    const auto is_better = [&](std::size_t n, std::size_t than) {
      const double difference = to[n] - to[than];
      const double same = 1e-9 * to[than];
      return difference < -same || (difference <= same && load[n] < load[than]);
    };
    int best = -1;
    for (int n = 0; n < static_cast<int>(to.size()); ++n) {
      if (to[index(n)] >= 0 && (best < 0 || is_better(index(n), index(best)))) { best = n; }
    }
    if (best >= 0) { ++load[index(best)]; }
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace

BuiltNode build_node(Topology& topology, const NodeDesign& design, int number) {
  NodeBuilder builder(topology, design, number);
  BuiltNode built = builder.build();
  for (std::size_t i = 0; i < built.devices.size(); ++i) {
    const DeviceDesign& device = design.devices[i];
    topology.devices.push_back(built.devices[i]);
    topology.device_kind.push_back(device.kind);
    topology.device_reducer.push_back(builder.reducer());
    const bool peers = design.host.peer_access, nics = design.host.nic_access;
    topology.device_staging.push_back(
        {peers ? -1 : builder.memory_of(device.slot), nics ? -1 : builder.memory_of(device.slot)});
  }
  return built;
}

std::vector<int> nic_of_devices(const NodeDesign& design) {
  std::vector<int> chosen(design.devices.size(), -1);
  bool stated = false;
  for (int n = 0; n < static_cast<int>(design.nics.size()); ++n) {
    for (const int device : design.nics[index(n)].serves) {
      chosen[index(device)] = n;
      stated = true;
    }
  }
  if (stated || design.nics.empty()) { return chosen; }
  Topology alone;
  const BuiltNode node = build_node(alone, design, 0);
  finish(alone);
  GraphSearch search(alone);
  std::vector<std::vector<double>> distance;
  for (const VertexId device : node.devices) {
    distance.emplace_back();
    for (const VertexId nic : node.nics) {
      const std::optional<Route> route = search.best(device, nic, {false, 0});
      distance.back().push_back(route ? message_time(*route).value : -1);
    }
  }
  return deal(distance);
}

}  // namespace tsim::cost
