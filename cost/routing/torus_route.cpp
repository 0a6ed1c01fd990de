#include "cost/routing/torus_route.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tsim::cost {
namespace {

std::int32_t link_between(const GraphSearch& graph, VertexId a, VertexId b) {
  const auto links = graph.links_of(a);
  const auto found =
      std::ranges::find_if(links, [&](std::int32_t l) { return graph.other_end(l, a) == b; });
  assert(found != links.end());
  return *found;
}

/// The next place on the way to `goal`: the shorter one.
int next_place(int here, int goal, int size) {
  const int up = (goal - here + size) % size;
  return (here + (2 * up <= size ? 1 : size - 1)) % size;
}

int router_count(const TorusRouters& torus) {
  int count = 1;
  for (const int size : torus.sizes) { count *= size; }
  return count;
}

/// The channel of a hop between neighbours; kNoChannel for a link that never limits.
ChannelId channel_between(const Topology& topology, const GraphSearch& graph, VertexId a,
                          VertexId b) {
  const auto link = static_cast<std::size_t>(link_between(graph, a, b));
  const bool forward = topology.links[link].a == a;
  return (forward ? topology.forward_channel : topology.backward_channel)[link];
}

/// One dimension of a torus, with the place of a router along it.
struct Dimension {
  int size = 1, stride = 1;
  int place(int router) const { return router / stride % size; }
  int moved(int router, int to) const { return router + (to - place(router)) * stride; }
};

/// Where loads are added up.
struct Wires {
  const Topology& topology;
  const GraphSearch& graph;
  std::span<double> loads;
};

/// Adds what goes from router `at` to place `goal` of its line.
void add_line(const Wires& wires, const Dimension& d, int at, int goal, double bytes) {
  const VertexId first = wires.topology.torus.first;
  while (d.place(at) != goal) {
    const int next = d.moved(at, next_place(d.place(at), goal, d.size));
    const ChannelId channel =
        channel_between(wires.topology, wires.graph, first + at, first + next);
    if (channel != kNoChannel) { wires.loads[static_cast<std::size_t>(channel)] += bytes; }
    at = next;
  }
}

}  // namespace

bool is_torus_router(const TorusRouters& torus, VertexId v) {
  if (torus.sizes.empty()) { return false; }
  return v >= torus.first && v < torus.first + router_count(torus);
}

Route torus_route(const Topology& topology, const GraphSearch& graph, VertexId from, VertexId to) {
  const TorusRouters& torus = topology.torus;
  Route route;
  VertexId at = from;
  int stride = 1;
  for (const int size : torus.sizes) {
    const int goal = (to - torus.first) / stride % size;
    while (true) {
      const int here = (at - torus.first) / stride % size;
      if (here == goal) { break; }
      const VertexId vertex = at + (next_place(here, goal, size) - here) * stride;
      const std::int32_t number = link_between(graph, at, vertex);
      const Link& link = topology.links[static_cast<std::size_t>(number)];
      append(route, {{{number, at}}, link.latency, link.bandwidth});
      at = vertex;
    }
    stride *= size;
  }
  return route;
}

void add_torus_loads(const Topology& topology, const GraphSearch& graph, std::vector<double> sent,
                     std::span<double> loads) {
  const int routers = router_count(topology.torus);
  const auto n = static_cast<std::size_t>(routers);
  assert(sent.size() == n * n);
  const Wires wires{topology, graph, loads};
  Dimension d;
  for (const int size : topology.torus.sizes) {
    d.size = size;
    const auto places = static_cast<std::size_t>(size);
    std::vector<double> moved(n * n, 0.0);  // by where it is after this dimension, and goal
    std::vector<double> to_place(n * places,
                                 0.0);  // by where it is before, and place that it goes to
    for (int at = 0; at < routers; ++at) {
      for (int goal = 0; goal < routers; ++goal) {
        const double bytes =
            sent[static_cast<std::size_t>(at) * n + static_cast<std::size_t>(goal)];
        const int next = d.moved(at, d.place(goal));
        moved[static_cast<std::size_t>(next) * n + static_cast<std::size_t>(goal)] += bytes;
        to_place[static_cast<std::size_t>(at) * places + static_cast<std::size_t>(d.place(goal))] +=
            bytes;
      }
    }
    for (int at = 0; at < routers; ++at) {
      for (int place = 0; place < size; ++place) {
        const double bytes =
            to_place[static_cast<std::size_t>(at) * places + static_cast<std::size_t>(place)];
        if (bytes > 0) { add_line(wires, d, at, place, bytes); }
      }
    }
    sent = std::move(moved);
    d.stride *= size;
  }
}

}  // namespace tsim::cost
