// Wires that the synthesiser's tests share.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cost/synthesis/ways.hpp"
#include "tests/cost/clusters.hpp"

namespace tsim::cost::testing {

/// Devices of one node joined by NVLinks of `rate` bytes/s and `alpha` seconds, given as pairs.
inline Cluster linked_node(int devices, const std::vector<std::pair<int, int>>& links, double rate,
                           double alpha) {
  NodeDesign node;
  node.devices.resize(static_cast<std::size_t>(devices));
  node.peers.lane = {{rate}, {alpha}};
  for (const auto& [a, b] : links) { node.peers.pairs.push_back({a, b, 1}); }
  return build_cluster(ClusterDesign{"linked", {Device{}}, {{node, 1}}, {}});
}

inline synthesis::Ways ways_of(Bench& bench, int ranks) {
  return {first_devices(ranks), {}, Regime{}, bench.router};
}

/// PCIe cards at 12 GB/s behind two sockets, two to a switch: what bridges and meshes are added to.
inline NodeDesign two_socket_cards(int devices) {
  PcieShape shape;
  shape.devices = devices;
  shape.sockets = 2;
  shape.devices_per_switch = 2;
  shape.card = shape.uplink = {{12e9}, {1e-6}};
  shape.socket_link = {{20e9}, {5e-7}};
  return pcie_design(shape);
}

inline NodeDesign cube_mesh() { return with_cube_mesh(two_socket_cards(8), {{25e9}, {1e-6}}); }

inline Cluster cluster_of(NodeDesign node, int nodes = 1) {
  return build_cluster(ClusterDesign{"test", {Device{}}, {{std::move(node), nodes}}, {}});
}

/// `devices` joined at random, in one piece, by links and switches of unequal rates.
inline Cluster random_cluster(unsigned seed, int devices) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Topology t;
  const auto vertex = [&](VertexKind kind, const char* name, int i) {
    t.vertices.push_back({kind, name + std::to_string(i), 0});
    return static_cast<VertexId>(t.vertices.size() - 1);
  };
  const auto link = [&](VertexId a, VertexId b) {
    const double rate = 1e9 * (1 + below(50));
    t.links.push_back({below(2) == 0 ? LinkKind::nvlink : LinkKind::pcie,
                       a,
                       b,
                       {rate},
                       {1e-7 * (1 + below(30))},
                       below(4) != 0});
  };
  const int switches = 1 + below(3);
  std::vector<VertexId> hubs;
  for (int s = 0; s < switches; ++s) {
    hubs.push_back(vertex(VertexKind::pcie_switch, "switch", s));
    if (s > 0) { link(hubs[static_cast<std::size_t>(below(s))], hubs.back()); }
  }
  for (int d = 0; d < devices; ++d) {
    t.devices.push_back(vertex(VertexKind::device, "gpu", d));
    link(t.devices.back(), hubs[static_cast<std::size_t>(below(switches))]);
    for (int extra = below(3); extra > 0 && d > 0; --extra) {
      link(t.devices[static_cast<std::size_t>(below(d))], t.devices.back());
    }
  }
  finish(t);
  Cluster cluster;
  cluster.name = "random";
  cluster.devices = {Device{}};
  cluster.topology = std::move(t);
  cluster.devices_per_node = devices;
  return cluster;
}

}  // namespace tsim::cost::testing
