#include "cost/routing/torus_route.hpp"

#include <algorithm>
#include <cassert>

namespace tsim::cost {
namespace {

std::int32_t link_between(const GraphSearch& graph, VertexId a, VertexId b) {
  const auto links = graph.links_of(a);
  const auto found =
      std::ranges::find_if(links, [&](std::int32_t l) { return graph.other_end(l, a) == b; });
  assert(found != links.end());
  return *found;
}

}  // namespace

bool is_torus_router(const TorusRouters& torus, VertexId v) {
  if (torus.sizes.empty()) { return false; }
  int count = 1;
  for (const int size : torus.sizes) { count *= size; }
  return v >= torus.first && v < torus.first + count;
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
      const int up = (goal - here + size) % size;
      const int next = (here + (2 * up <= size ? 1 : size - 1)) % size;
      const VertexId vertex = at + (next - here) * stride;
      const std::int32_t number = link_between(graph, at, vertex);
      const Link& link = topology.links[static_cast<std::size_t>(number)];
      append(route, {{{number, at}}, link.latency, link.bandwidth});
      at = vertex;
    }
    stride *= size;
  }
  return route;
}

}  // namespace tsim::cost
