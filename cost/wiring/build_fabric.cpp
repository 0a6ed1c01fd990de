#include <algorithm>
#include <cassert>
#include <climits>
#include <string>

#include "cost/wiring/fabric.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

VertexId add_switch(Topology& t, std::string name) {
  t.vertices.push_back({VertexKind::network_switch, std::move(name), -1});
  return static_cast<VertexId>(t.vertices.size() - 1);
}

void add_link(Topology& t, VertexId a, VertexId b, const LinkSpec& spec) {
  t.links.push_back({LinkKind::fabric, a, b, spec.bandwidth, spec.latency, spec.full_duplex});
}

int divided_up(int a, int b) { return (a + b - 1) / b; }

/// Switches of one level: `groups` of `planes` each, group by group.
struct Level {
  int groups = 0, planes = 1;
  std::vector<VertexId> switches;
};

/// Plane b of the lower group a goes to the planes b p + j, j < p, of upper group a / children.
Level add_level(Topology& t, const Level& lower, const TreeLevel& design, int number) {
  Level upper{divided_up(lower.groups, design.children), lower.planes * design.parents, {}};
  const std::string prefix = "level" + std::to_string(number) + ".";
  for (int i = 0; i < upper.groups * upper.planes; ++i) {
    upper.switches.push_back(add_switch(t, prefix + std::to_string(i)));
  }
  for (int a = 0; a < lower.groups; ++a) {
    for (int b = 0; b < lower.planes; ++b) {
      for (int j = 0; j < design.parents; ++j) {
        const int parent = (a / design.children) * upper.planes + b * design.parents + j;
        add_link(t, lower.switches[index(a * lower.planes + b)], upper.switches[index(parent)],
                 design.link);
      }
    }
  }
  return upper;
}

FabricPorts build(Topology& t, const TreeFabric& fabric, int nodes) {
  const int per_leaf = fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : nodes;
  const int pods = divided_up(nodes, per_leaf);
  Level level{pods * fabric.rails, 1, {}};
  for (int i = 0; i < level.groups; ++i) {
    const bool only = level.groups == 1;
    level.switches.push_back(add_switch(t, only ? "network" : "leaf" + std::to_string(i)));
  }
  FabricPorts ports(index(nodes));
  for (int n = 0; n < nodes; ++n) {
    const auto first = level.switches.begin() + std::ptrdiff_t{n / per_leaf} * fabric.rails;
    ports[index(n)].assign(first, first + fabric.rails);
  }
  int number = 2;
  for (const TreeLevel& design : fabric.levels) { level = add_level(t, level, design, number++); }
  return ports;
}

/// Group i's link to the group o + 1 further on is its o-th: at router o / (links a router).
FabricPorts build(Topology& t, const Dragonfly& d, int nodes) {
  std::vector<VertexId> routers;
  routers.reserve(index(d.groups * d.routers));
  for (int i = 0; i < d.groups * d.routers; ++i) {
    routers.push_back(add_switch(
        t, "group" + std::to_string(i / d.routers) + ".router" + std::to_string(i % d.routers)));
  }
  const auto router = [&](int group, int r) { return routers[index(group * d.routers + r)]; };
  const int globals = divided_up(d.groups - 1, d.routers);
  for (int g = 0; g < d.groups; ++g) {
    for (int r = 0; r < d.routers; ++r) {
      for (int s = 0; s < r; ++s) { add_link(t, router(g, s), router(g, r), d.local); }
    }
    for (int h = 0; h < g; ++h) {
      const int up = g - h - 1, down = d.groups - 2 - up;
      add_link(t, router(h, up / globals), router(g, down / globals), d.global);
    }
  }
  FabricPorts ports(index(nodes));
  for (int n = 0; n < nodes; ++n) { ports[index(n)] = {routers[index(n / d.nodes_per_router)]}; }
  return ports;
}

FabricPorts build(Topology& t, const Torus& torus, int nodes) {
  int count = 1;
  for (const int size : torus.sizes) { count *= size; }
  std::vector<VertexId> routers;
  routers.reserve(index(count));
  for (int i = 0; i < count; ++i) {
    routers.push_back(add_switch(t, "router" + std::to_string(i)));
  }
  int stride = 1;
  for (const int size : torus.sizes) {
    for (int i = 0; i < count; ++i) {
      const int at = i / stride % size;
      const bool closes = at == size - 1;
      if (size == 1 || (closes && size == 2)) { continue; }  // two in a row share one link
      const int next = closes ? i - at * stride : i + stride;
      add_link(t, routers[index(i)], routers[index(next)], torus.link);
    }
    stride *= size;
  }
  t.torus = {torus.sizes, routers[0]};
  FabricPorts ports(index(nodes));
  for (int n = 0; n < nodes; ++n) {
    ports[index(n)] = {routers[index(n / torus.nodes_per_router)]};
  }
  return ports;
}

}  // namespace

int capacity(const Fabric& fabric) {
  const auto times = [](int a, int b) {  // INT_MAX stands for more
    return static_cast<int>(std::min<std::int64_t>(INT_MAX, std::int64_t{a} * b));
  };
  if (const auto* d = std::get_if<Dragonfly>(&fabric)) {
    return times(times(d->groups, d->routers), d->nodes_per_router);
  }
  if (const auto* t = std::get_if<Torus>(&fabric)) {
    int nodes = t->nodes_per_router;
    for (const int size : t->sizes) { nodes = times(nodes, size); }
    return nodes;
  }
  return INT_MAX;
}

FabricPorts build_fabric(Topology& topology, const Fabric& fabric, int nodes) {
  assert(nodes <= capacity(fabric));
  return std::visit([&](const auto& f) { return build(topology, f, nodes); }, fabric);
}

}  // namespace tsim::cost
