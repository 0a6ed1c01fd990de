#include "cost/topology.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>

namespace tsim::cost {

std::string_view name_of(VertexKind kind) {
  constexpr std::array<std::string_view, 9> kNames{"device",         "nvswitch",    "pcie switch",
                                                   "host bridge",    "host memory", "nic",
                                                   "network switch", "nvme",        "cpu"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(LinkKind kind) {
  constexpr std::array<std::string_view, 7> kNames{"nvlink", "pcie",   "socket", "memory",
                                                   "nic",    "fabric", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

ChannelId add_channel(Topology& t, VertexId from, VertexId to, const Link& link) {
  const auto& a = t.vertices[static_cast<std::size_t>(from)].name;
  const auto& b = t.vertices[static_cast<std::size_t>(to)].name;
  const std::string_view arrow = link.full_duplex ? " -> " : " <-> ";
  t.channels.push_back({a + std::string(arrow) + b, link.bandwidth, link.kind});
  return static_cast<ChannelId>(t.channels.size() - 1);
}

}  // namespace

void finish(Topology& t) {
  t.channels.clear();
  t.forward_channel.assign(t.links.size(), kNoChannel);
  t.backward_channel.assign(t.links.size(), kNoChannel);
  for (std::size_t i = 0; i < t.links.size(); ++i) {
    const Link& link = t.links[i];
    assert(link.bandwidth.value > 0 && link.a != link.b);
    if (link.bandwidth == kUnlimited) { continue; }
    t.forward_channel[i] = add_channel(t, link.a, link.b, link);
    t.backward_channel[i] =
        link.full_duplex ? add_channel(t, link.b, link.a, link) : t.forward_channel[i];
  }
  t.device_nic.resize(t.devices.size(), -1);
  t.device_reducer.resize(t.devices.size(), -1);
  t.device_kind.resize(t.devices.size(), 0);
  t.device_staging.resize(t.devices.size());
  std::int32_t nodes = 0;
  for (const Vertex& v : t.vertices) { nodes = std::max(nodes, v.node + 1); }
  t.node_kind.resize(static_cast<std::size_t>(nodes), -1);
}

std::int32_t node_of(const Topology& topology, int device) {
  const VertexId v = topology.devices.at(static_cast<std::size_t>(device));
  return topology.vertices[static_cast<std::size_t>(v)].node;
}

int device_count(const Cluster& cluster) {
  return static_cast<int>(cluster.topology.devices.size());
}

}  // namespace tsim::cost
