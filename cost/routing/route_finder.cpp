#include "cost/routing/route_finder.hpp"

#include <algorithm>

#include "cost/routing/torus_route.hpp"

namespace tsim::cost {
namespace {

std::uint64_t key(VertexId a, VertexId b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) |
         static_cast<std::uint32_t>(b);
}

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

/// From `from` to `to` in a node, through `stop` unless that is -1.
std::optional<Route> RouteFinder::by_way_of(VertexId from, VertexId stop, VertexId to) {
  const Area area{false, vertex(from).node};
  if (stop < 0) { return graph_.best(from, to, area); }
  std::optional<Route> route = graph_.best(from, stop, area);
  const std::optional<Route> rest = graph_.best(stop, to, area);
  if (!route || !rest) { return std::nullopt; }
  append(*route, *rest);
  return route;
}

std::optional<Route> RouteFinder::inside(int from, int to) {
  const VertexId a = topology_->devices[index(from)], b = topology_->devices[index(to)];
  const VertexId stop = topology_->device_staging[index(from)].peers;
  if (stop >= 0) {
    const Area area{false, vertex(a).node};
    std::optional<Route> linked = graph_.best(a, b, area, 0, LinkKind::nvlink);
    if (linked) { return linked; }
  }
  return by_way_of(a, stop, b);
}

/// The best of the links between two vertices, none if they are no neighbours; the hub that one may
/// be is not searched.
std::optional<Route> RouteFinder::wire(VertexId from, VertexId to) const {
  std::optional<Route> best;
  for (const std::int32_t i : graph_.links_of(from)) {
    const Link& link = topology_->links[index(i)];
    Route route{{{i, from}}, link.latency, link.bandwidth};
    const bool joins = graph_.other_end(i, from) == to;
    if (joins && (!best || better(route, *best))) { best = std::move(route); }
  }
  return best;
}

const std::vector<RouteFinder::Exit>& RouteFinder::exits_of(int device) {
  const auto [entry, is_new] = exits_.try_emplace(device);
  if (!is_new) { return entry->second; }
  const VertexId start = topology_->devices[index(device)];
  const VertexId nic = topology_->device_nic[index(device)];
  const VertexId stop = topology_->device_staging[index(device)].nic;
  for (const VertexId gateway : graph_.edge(nic >= 0 ? nic : start)) {
    std::optional<Route> route = by_way_of(start, stop, nic >= 0 ? nic : gateway);
    if (!route) { continue; }
    if (nic >= 0) {
      const std::optional<Route> last = wire(nic, gateway);
      if (!last) { continue; }  // another NIC's
      append(*route, *last);
    }
    entry->second.push_back({gateway, std::move(*route)});
  }
  return entry->second;
}

const std::vector<Route>& RouteFinder::core_routes(VertexId from, VertexId to) {
  const auto [entry, is_new] = core_.try_emplace(key(from, to));
  std::vector<Route>& routes = entry->second;
  if (!is_new) { return routes; }
  constexpr std::uint64_t kMost = 256;  // ways that are told apart
  if (from == to) {
    routes.emplace_back();
  } else if (is_torus_router(topology_->torus, from) && is_torus_router(topology_->torus, to)) {
    routes.push_back(torus_route(*topology_, graph_, from, to));
  } else if (const auto first = graph_.best(from, to, {false, -1})) {
    routes.push_back(*first);
    const std::uint64_t choices = std::min(graph_.choices(), kMost);
    for (std::uint64_t spread = 1; spread < choices; ++spread) {
      routes.push_back(*graph_.best(from, to, {false, -1}, spread));
    }
  }
  return routes;
}

std::optional<Route> RouteFinder::across(int from, int to) {
  std::optional<Route> best;
  const std::vector<Exit>& ins = exits_of(to);
  for (const Exit& out : exits_of(from)) {
    for (const Exit& in : ins) {
      const std::vector<Route>& middle = core_routes(out.gateway, in.gateway);
      if (middle.empty()) { continue; }
      Route route = out.route;
      append(route, middle[index(to) % middle.size()]);
      append(route, graph_.reversed(in.route));
      if (!best || better(route, *best)) { best = std::move(route); }
    }
  }
  return best;
}

std::vector<ChannelId> RouteFinder::channels_of(const Route& route) const {
  std::vector<ChannelId> list;
  for (const Hop& hop : route.hops) {
    const bool forward = topology_->links[index(hop.link)].a == hop.from;
    const auto& channels = forward ? topology_->forward_channel : topology_->backward_channel;
    const ChannelId channel = channels[index(hop.link)];
    if (channel != kNoChannel) { list.push_back(channel); }
  }
  return list;
}

}  // namespace tsim::cost
