// Paths between devices. One between nodes is put together from three parts that are searched for
// in small graphs and remembered: device to the edge of its node, edge to edge through the network,
// and the mirror image of the first.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "cost/routing/graph_search.hpp"
#include "cost/routing/torus_route.hpp"
#include "cost/topology.hpp"

namespace tsim::cost {
namespace {

/// The outer vertex at which a node's traffic leaves, and the way there.
struct Exit {
  VertexId gateway = 0;
  Route route;
};

std::uint64_t key(VertexId a, VertexId b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) |
         static_cast<std::uint32_t>(b);
}

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

struct Router::State {
  const Topology* topology;
  GraphSearch graph;
  std::unordered_map<std::uint64_t, Path> device_paths;
  std::unordered_map<std::uint64_t, Path> vertex_paths;
  std::unordered_map<int, std::vector<Exit>> exits;            // by device
  std::unordered_map<std::uint64_t, std::vector<Route>> core;  // by pair of outer vertices: the
                                                               // equally good ways; none: no way

  std::map<std::vector<int>, LocalOrders> local_orders;

  explicit State(const Topology& t) : topology(&t), graph(t) {}
  const Vertex& vertex(VertexId v) const { return topology->vertices[index(v)]; }
  std::optional<Route> inside(int from, int to);
  std::optional<Route> by_way_of(VertexId from, VertexId stop, VertexId to);
  std::optional<Route> wire(VertexId from, VertexId to) const;
  const std::vector<Exit>& exits_of(int device);
  const std::vector<Route>& core_routes(VertexId from, VertexId to);
  std::optional<Route> across(int from, int to);
  Path path_of(const Route& route) const;
  Path fixed(int from, int to) const;
};

/// From `from` to `to` in a node, through `stop` unless that is -1.
std::optional<Route> Router::State::by_way_of(VertexId from, VertexId stop, VertexId to) {
  const Area area{false, vertex(from).node};
  if (stop < 0) { return graph.best(from, to, area); }
  std::optional<Route> route = graph.best(from, stop, area);
  const std::optional<Route> rest = graph.best(stop, to, area);
  if (!route || !rest) { return std::nullopt; }
  append(*route, *rest);
  return route;
}

/// Between two devices of one node.
std::optional<Route> Router::State::inside(int from, int to) {
  const VertexId a = topology->devices[index(from)], b = topology->devices[index(to)];
  const VertexId stop = topology->device_staging[index(from)].peers;
  if (stop >= 0) {
    const Area area{false, vertex(a).node};
    std::optional<Route> linked = graph.best(a, b, area, 0, LinkKind::nvlink);
    if (linked) { return linked; }
  }
  return by_way_of(a, stop, b);
}

/// The best of the links between two vertices, none if they are no neighbours; the hub that one may
/// be is not searched.
std::optional<Route> Router::State::wire(VertexId from, VertexId to) const {
  std::optional<Route> best;
  for (const std::int32_t i : graph.links_of(from)) {
    const Link& link = topology->links[index(i)];
    Route route{{{i, from}}, link.latency, link.bandwidth};
    const bool joins = graph.other_end(i, from) == to;
    if (joins && (!best || better(route, *best))) { best = std::move(route); }
  }
  return best;
}

/// Ways out of a device's node, one for each outer vertex that its NIC (or any) is wired to.
const std::vector<Exit>& Router::State::exits_of(int device) {
  const auto [entry, is_new] = exits.try_emplace(device);
  if (!is_new) { return entry->second; }
  const VertexId start = topology->devices[index(device)];
  const VertexId nic = topology->device_nic[index(device)];
  const VertexId stop = topology->device_staging[index(device)].nic;
  for (const VertexId gateway : graph.edge(nic >= 0 ? nic : start)) {
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

const std::vector<Route>& Router::State::core_routes(VertexId from, VertexId to) {
  const auto [entry, is_new] = core.try_emplace(key(from, to));
  std::vector<Route>& routes = entry->second;
  if (!is_new) { return routes; }
  constexpr std::uint64_t kMost = 256;  // ways that are told apart
  if (from == to) {
    routes.emplace_back();
  } else if (is_torus_router(topology->torus, from) && is_torus_router(topology->torus, to)) {
    routes.push_back(torus_route(*topology, graph, from, to));
  } else if (const auto first = graph.best(from, to, {false, -1})) {
    routes.push_back(*first);
    const std::uint64_t choices = std::min(graph.choices(), kMost);
    for (std::uint64_t spread = 1; spread < choices; ++spread) {
      routes.push_back(*graph.best(from, to, {false, -1}, spread));
    }
  }
  return routes;
}

/// The best way through the edges of both nodes.
std::optional<Route> Router::State::across(int from, int to) {
  std::optional<Route> best;
  const std::vector<Exit>& ins = exits_of(to);
  for (const Exit& out : exits_of(from)) {
    for (const Exit& in : ins) {
      const std::vector<Route>& middle = core_routes(out.gateway, in.gateway);
      if (middle.empty()) { continue; }
      Route route = out.route;
      append(route, middle[index(to) % middle.size()]);
      append(route, graph.reversed(in.route));
      if (!best || better(route, *best)) { best = std::move(route); }
    }
  }
  return best;
}

Path Router::State::path_of(const Route& route) const {
  Path path{{}, route.latency};
  for (const Hop& hop : route.hops) {
    const bool forward = topology->links[index(hop.link)].a == hop.from;
    const auto& channels = forward ? topology->forward_channel : topology->backward_channel;
    const ChannelId channel = channels[index(hop.link)];
    if (channel != kNoChannel) { path.channels.push_back(channel); }
  }
  return path;
}

/// The way that the topology states for two devices.
Path Router::State::fixed(int from, int to) const {
  const FixedRoutes& routes = topology->routes;
  const auto way = routes.between.find({routes.place.at(index(from)), routes.place.at(index(to))});
  if (way == routes.between.end()) {
    throw Unreachable{vertex(topology->devices[index(from)]).name,
                      vertex(topology->devices[index(to)]).name};
  }
  Path path{{}, way->second.latency};
  for (const auto* links : {&routes.up[index(from)], &way->second.links, &routes.down[index(to)]}) {
    for (const std::int32_t link : *links) {
      path.latency += topology->links[index(link)].latency;
      const ChannelId channel = topology->forward_channel[index(link)];
      if (channel != kNoChannel) { path.channels.push_back(channel); }
    }
  }
  return path;
}

Router::Router(const Topology& topology) : state_(std::make_unique<State>(topology)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
const Topology& Router::topology() const { return *state_->topology; }
std::map<std::vector<int>, Router::LocalOrders>& Router::local_orders() {
  return state_->local_orders;
}

VertexId Router::gateway(int device) {
  const std::vector<Exit>& exits = state_->exits_of(device);
  return exits.empty() ? -1 : exits[0].gateway;
}

const Path& Router::path(int from_device, int to_device) {
  State& s = *state_;
  const VertexId from = s.topology->devices.at(static_cast<std::size_t>(from_device));
  const VertexId to = s.topology->devices.at(static_cast<std::size_t>(to_device));
  const std::uint64_t pair = key(from_device, to_device);
  if (const auto known = s.device_paths.find(pair); known != s.device_paths.end()) {
    return known->second;
  }
  if (from == to) { return s.device_paths.emplace(pair, Path{}).first->second; }
  if (!s.topology->routes.place.empty()) {
    return s.device_paths.emplace(pair, s.fixed(from_device, to_device)).first->second;
  }
  const bool same_node = s.vertex(from).node == s.vertex(to).node;
  const std::optional<Route> route =
      same_node ? s.inside(from_device, to_device) : s.across(from_device, to_device);
  const Path found = route ? s.path_of(*route) : vertex_path(from, to);
  return s.device_paths.emplace(pair, found).first->second;
}

const Path& Router::vertex_path(VertexId from, VertexId to) {
  State& s = *state_;
  const std::uint64_t pair = key(from, to);
  if (const auto known = s.vertex_paths.find(pair); known != s.vertex_paths.end()) {
    return known->second;
  }
  const std::optional<Route> route = s.graph.best(from, to, {true, -1});
  if (!route) { throw Unreachable{s.vertex(from).name, s.vertex(to).name}; }
  return s.vertex_paths.emplace(pair, s.path_of(*route)).first->second;
}

}  // namespace tsim::cost
