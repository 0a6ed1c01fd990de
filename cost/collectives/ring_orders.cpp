#include "cost/collectives/ring_orders.hpp"

#include <algorithm>
#include <numeric>

#include "cost/collectives/algorithms.hpp"
#include "cost/collectives/local_orders.hpp"

namespace tsim::cost::collectives {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The devices of a node, its rings, and its ports: positions of the first device at each NIC.
struct NodeRings {
  std::vector<int> devices;
  const Router::LocalOrders* orders = nullptr;
  std::vector<int> ports;
};

std::vector<int> ports_of(const std::vector<int>& devices, const Topology& topology) {
  std::vector<VertexId> nics;
  std::vector<int> ports;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const VertexId nic = topology.device_nic[index(devices[i])];
    if (std::ranges::find(nics, nic) != nics.end()) { continue; }
    nics.push_back(nic);
    ports.push_back(static_cast<int>(i));
  }
  return ports;
}

/// Number of rings that all nodes can take part in, evenly where it is not too large.
int ring_count(const std::vector<NodeRings>& nodes) {
  constexpr int kMost = 24;
  std::size_t ports = nodes[0].ports.size(), local = nodes[0].orders->rings.size();
  for (const NodeRings& node : nodes) {
    ports = std::min(ports, node.ports.size());
    local = std::min(local, node.orders->rings.size());
  }
  const auto even = static_cast<int>(std::lcm(ports, local));
  return even <= kMost ? even : static_cast<int>(std::max(ports, local));
}

/// Devices of a node in the order of its r-th ring, from the device at the r-th port on.
std::vector<int> chain(const NodeRings& node, int r) {
  const auto& rings = node.orders->rings;
  std::vector<int> order = rings[index(r) % rings.size()];
  const int start = node.ports[index(r) % node.ports.size()];
  std::rotate(order.begin(), std::ranges::find(order, start), order.end());
  for (int& place : order) { place = node.devices[index(place)]; }
  return order;
}

bool reachable(int from, int to, Router& router) {
  try {
    router.path(from, to);
    return true;
  } catch (const Unreachable&) { return false; }
}

/// The node's device that leaves by the same outer switch as `to`.
int relay_to(int to, const NodeRings& node, Router& router) {
  const VertexId wanted = router.gateway(to);
  const auto found = std::ranges::find_if(
      node.devices, [&](int device) { return router.gateway(device) == wanted; });
  return found == node.devices.end() ? -1 : *found;
}

/// Every other node is gone through backwards: a ring leaves one node beside the NIC by which it
/// enters the next.
Ring ring_over(const std::vector<NodeRings>& nodes, int r, Router& router) {
  Ring ring;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::vector<int> part = chain(nodes[k], r);
    if (k % 2 == 1) { std::ranges::reverse(part); }
    ring.insert(ring.end(), part.begin(), part.end());
  }
  // Of an odd number of nodes the last is not left by the NIC that the first is entered by.
  if (nodes.size() % 2 == 1 && !reachable(ring.back(), ring.front(), router)) {
    const int relay = relay_to(ring.front(), nodes.back(), router);
    if (relay >= 0 && relay != ring.back()) { ring.push_back(relay); }
  }
  return ring;
}

}  // namespace

std::vector<Ring> ring_orders(std::span<const int> devices, Router& router) {
  std::vector<NodeRings> nodes;
  for (std::vector<int>& members : by_node(devices, router.topology())) {
    const auto& orders = local_orders(members, router);
    std::vector<int> ports = ports_of(members, router.topology());
    nodes.push_back({std::move(members), &orders, std::move(ports)});
  }
  const int count =
      nodes.size() == 1 ? static_cast<int>(nodes[0].orders->rings.size()) : ring_count(nodes);
  std::vector<Ring> rings;
  for (int r = 0; r < count; ++r) {
    if (nodes.size() > 1) {
      rings.push_back(ring_over(nodes, r, router));
      continue;
    }
    Ring ring = nodes[0].orders->rings[index(r)];
    for (int& place : ring) { place = nodes[0].devices[index(place)]; }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace tsim::cost::collectives
