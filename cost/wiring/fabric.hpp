// The network between nodes, as switches and links.
#pragma once

#include <variant>
#include <vector>

#include "cost/wiring/node_design.hpp"

namespace tsim::cost {

/// One level of a tree above the leaves: `children` groups of lower switches share `parents` upper
/// ones, as in an extended generalised fat tree [Ohring et al., IPPS 1995].
struct TreeLevel {
  int children = 1;
  int parents = 1;
  LinkSpec link{};  // from one lower switch to one upper
  bool operator==(const TreeLevel&) const = default;
};

/// Leaf switches that never limit, and levels over them. With `rails` r, NIC i of a node goes to
/// leaf i mod r of its group of nodes: r leaves a group. Without levels, leaves are not joined.
/// One leaf for all nodes and one rail, the default, is a network that never limits.
struct TreeFabric {
  int nodes_per_leaf = 0;  // 0: all
  int rails = 1;
  std::vector<TreeLevel> levels;
  bool operator==(const TreeFabric&) const = default;
};

/// Groups of routers that are linked all to all, groups linked all to all by one link each, dealt
/// to the routers in turn [Kim et al., ISCA 2008]. Minimal routes.
struct Dragonfly {
  int groups = 1;
  int routers = 1;  // of a group
  int nodes_per_router = 1;
  LinkSpec local{}, global{};
  bool operator==(const Dragonfly&) const = default;
};

/// Routers in a grid whose rows are closed to rings. Routes go along the first dimension first.
struct Torus {
  std::vector<int> sizes;
  int nodes_per_router = 1;
  LinkSpec link{};
  bool operator==(const Torus&) const = default;
};

using Fabric = std::variant<TreeFabric, Dragonfly, Torus>;

/// Nodes that the fabric has room for; INT_MAX when there is no limit.
int capacity(const Fabric& fabric);

/// Where NIC i of each node is plugged in: ports[node][i mod ports[node].size()].
using FabricPorts = std::vector<std::vector<VertexId>>;

/// Adds the fabric's switches and links for `nodes` <= capacity nodes.
FabricPorts build_fabric(Topology& topology, const Fabric& fabric, int nodes);

}  // namespace tsim::cost
