// Least-cost paths. A path between nodes is put together from three parts that are searched for in
// small graphs and remembered: device to the edge of its node, edge to edge through the network,
// and the mirror image of the first.
#include <algorithm>
#include <optional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "cost/topology.hpp"

namespace tsim::cost {
namespace {

constexpr Bytes kMessage{1 << 20};  // the size whose time a path minimises

/// A link crossed from `from`.
struct Hop {
  std::int32_t link = 0;
  VertexId from = 0;
};

struct Route {
  std::vector<Hop> hops;
  Seconds latency;
  BytesPerSecond bandwidth = kUnlimited;  // of the slowest link
};

Seconds message_time(const Route& r) { return r.latency + kMessage / r.bandwidth; }

bool better(const Route& a, const Route& b) {
  const Seconds ta = message_time(a), tb = message_time(b);
  return ta != tb ? ta < tb : a.hops.size() < b.hops.size();
}

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

/// What a search has found out about a vertex; valid when `round` is that of the search.
struct Label {
  int round = 0;
  int hops = 0;
  double latency = 0;
  Hop via;
};

/// Which vertices a search may enter: those of one node, those outside every node, or all.
struct Area {
  bool all = false;
  std::int32_t node = -1;
};

}  // namespace

struct Router::State {
  const Topology* topology;
  std::vector<std::int32_t> first;  // compressed rows: links of vertex v
  std::vector<std::int32_t> incident;
  std::vector<Label> labels;
  std::vector<VertexId> reached;  // by the last search
  int round = 0;
  std::unordered_map<std::uint64_t, Path> device_paths;
  std::unordered_map<std::uint64_t, Path> vertex_paths;
  std::unordered_map<int, std::vector<Exit>> exits;              // by device
  std::unordered_map<std::uint64_t, std::optional<Route>> core;  // by pair of outer vertices

  explicit State(const Topology& t);
  const Vertex& vertex(VertexId v) const { return topology->vertices[index(v)]; }
  VertexId other_end(std::int32_t link, VertexId v) const;
  void search(VertexId from, VertexId to, Area area, BytesPerSecond above);
  std::optional<Route> trace(VertexId from, VertexId to) const;
  std::optional<Route> best_route(VertexId from, VertexId to, Area area);
  const std::vector<Exit>& exits_of(int device);
  const std::optional<Route>& core_route(VertexId from, VertexId to);
  std::optional<Route> across(int from_device, int to_device);
  Route reversed(const Route& route) const;
  Path path_of(const Route& route) const;
};

Router::State::State(const Topology& t) : topology(&t) {
  first.assign(t.vertices.size() + 1, 0);
  for (const Link& link : t.links) {
    ++first[index(link.a) + 1];
    ++first[index(link.b) + 1];
  }
  for (std::size_t v = 1; v < first.size(); ++v) { first[v] += first[v - 1]; }
  incident.resize(2 * t.links.size());
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < t.links.size(); ++i) {
    incident[index(next[index(t.links[i].a)]++)] = static_cast<std::int32_t>(i);
    incident[index(next[index(t.links[i].b)]++)] = static_cast<std::int32_t>(i);
  }
  labels.resize(t.vertices.size());
}

VertexId Router::State::other_end(std::int32_t link, VertexId v) const {
  const Link& l = topology->links[index(link)];
  return l.a == v ? l.b : l.a;
}

/// Dijkstra by (latency, hops), over links faster than `above`, until `to` is settled.
void Router::State::search(VertexId from, VertexId to, Area area, BytesPerSecond above) {
  using Entry = std::tuple<double, int, VertexId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  ++round;
  labels[index(from)] = {round, 0, 0.0, {-1, from}};
  reached = {from};
  open.emplace(0.0, 0, from);
  while (!open.empty()) {
    const auto [latency, hops, v] = open.top();
    open.pop();
    if (v == to) { return; }
    const Label& settled = labels[index(v)];
    if (std::tie(latency, hops) != std::tie(settled.latency, settled.hops)) { continue; }
    for (std::int32_t i = first[index(v)]; i < first[index(v) + 1]; ++i) {
      const std::int32_t link = incident[index(i)];
      const Link& l = topology->links[index(link)];
      const VertexId u = other_end(link, v);
      if (l.bandwidth <= above) { continue; }
      const bool passable =
          vertex(u).kind != VertexKind::device && (area.all || vertex(u).node == area.node);
      if (!passable && u != to) { continue; }
      Label& label = labels[index(u)];
      const double reach = latency + l.latency.value;
      const bool known = label.round == round;
      const auto candidate = std::make_tuple(reach, hops + 1, v);
      if (known && candidate >= std::make_tuple(label.latency, label.hops, label.via.from)) {
        continue;
      }
      const bool sooner =
          !known || std::make_tuple(reach, hops + 1) < std::make_tuple(label.latency, label.hops);
      if (!known) { reached.push_back(u); }
      label = {round, hops + 1, reach, {link, v}};
      if (sooner) { open.emplace(reach, hops + 1, u); }
    }
  }
}

std::optional<Route> Router::State::trace(VertexId from, VertexId to) const {
  if (labels[index(to)].round != round) { return std::nullopt; }
  Route route;
  for (VertexId v = to; v != from; v = labels[index(v)].via.from) {
    const Hop hop = labels[index(v)].via;
    const Link& link = topology->links[index(hop.link)];
    route.hops.push_back(hop);
    route.bandwidth = std::min(route.bandwidth, link.bandwidth);
  }
  std::reverse(route.hops.begin(), route.hops.end());
  for (const Hop& hop : route.hops) { route.latency += topology->links[index(hop.link)].latency; }
  return route;
}

/// The slowest link counts once, so costs do not add up along a path. Exact all the same: the
/// lowest latency is searched for again and again over faster and faster links only.
std::optional<Route> Router::State::best_route(VertexId from, VertexId to, Area area) {
  std::optional<Route> best;
  BytesPerSecond above{0};
  while (true) {
    search(from, to, area, above);
    std::optional<Route> found = trace(from, to);
    if (!found) { return best; }
    above = found->bandwidth;
    const bool last = above == kUnlimited || (best && found->latency >= message_time(*best));
    if (!best || better(*found, *best)) { best = std::move(found); }
    if (last) { return best; }
  }
}

Route Router::State::reversed(const Route& route) const {
  Route r{{route.hops.rbegin(), route.hops.rend()}, route.latency, route.bandwidth};
  for (Hop& hop : r.hops) { hop.from = other_end(hop.link, hop.from); }
  return r;
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

namespace {

void append(Route& route, const Route& more) {
  route.hops.insert(route.hops.end(), more.hops.begin(), more.hops.end());
  route.latency += more.latency;
  route.bandwidth = std::min(route.bandwidth, more.bandwidth);
}

}  // namespace

/// Ways out of a device's node, one for each outer vertex that its NIC (or any) is wired to.
const std::vector<Exit>& Router::State::exits_of(int device) {
  const auto [entry, is_new] = exits.try_emplace(device);
  if (!is_new) { return entry->second; }
  const VertexId start = topology->devices[index(device)];
  const std::int32_t node = vertex(start).node;
  const VertexId nic = topology->device_nic[index(device)];
  search(start, -1, {false, node}, BytesPerSecond{0});
  std::vector<VertexId> edge;
  const auto look_at = [&](VertexId v) {
    for (std::int32_t i = first[index(v)]; i < first[index(v) + 1]; ++i) {
      const VertexId u = other_end(incident[index(i)], v);
      if (vertex(u).node != node) { edge.push_back(u); }
    }
  };
  if (nic >= 0) {
    look_at(nic);
  } else {
    for (const VertexId v : reached) { look_at(v); }
  }
  std::sort(edge.begin(), edge.end());
  edge.erase(std::unique(edge.begin(), edge.end()), edge.end());
  for (const VertexId gateway : edge) {
    std::optional<Route> route = best_route(start, nic >= 0 ? nic : gateway, {false, node});
    if (route && nic >= 0) { append(*route, *best_route(nic, gateway, {false, node})); }
    if (route) { entry->second.push_back({gateway, std::move(*route)}); }
  }
  return entry->second;
}

const std::optional<Route>& Router::State::core_route(VertexId from, VertexId to) {
  const auto [entry, is_new] = core.try_emplace(key(from, to));
  if (is_new) { entry->second = best_route(from, to, {false, -1}); }
  return entry->second;
}

/// The best way through the edges of both nodes.
std::optional<Route> Router::State::across(int from_device, int to_device) {
  std::optional<Route> best;
  const std::vector<Exit>& ins = exits_of(to_device);
  for (const Exit& out : exits_of(from_device)) {
    for (const Exit& in : ins) {
      const std::optional<Route>& middle = core_route(out.gateway, in.gateway);
      if (!middle) { continue; }
      Route route = out.route;
      append(route, *middle);
      append(route, reversed(in.route));
      if (!best || better(route, *best)) { best = std::move(route); }
    }
  }
  return best;
}

Router::Router(const Topology& topology) : state_(std::make_unique<State>(topology)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
const Topology& Router::topology() const { return *state_->topology; }

const Path& Router::path(int from_device, int to_device) {
  State& s = *state_;
  const VertexId from = s.topology->devices.at(static_cast<std::size_t>(from_device));
  const VertexId to = s.topology->devices.at(static_cast<std::size_t>(to_device));
  const std::uint64_t pair = key(from_device, to_device);
  if (const auto known = s.device_paths.find(pair); known != s.device_paths.end()) {
    return known->second;
  }
  const std::int32_t node = s.vertex(from).node;
  std::optional<Route> route;
  if (s.vertex(to).node == node) {
    route = s.best_route(from, to, {false, node});
  } else {
    route = s.across(from_device, to_device);
  }
  const Path found = route ? s.path_of(*route) : vertex_path(from, to);
  return s.device_paths.emplace(pair, found).first->second;
}

const Path& Router::vertex_path(VertexId from, VertexId to) {
  State& s = *state_;
  const std::uint64_t pair = key(from, to);
  if (const auto known = s.vertex_paths.find(pair); known != s.vertex_paths.end()) {
    return known->second;
  }
  const std::optional<Route> route = s.best_route(from, to, {true, -1});
  if (!route) { throw Unreachable{s.vertex(from).name, s.vertex(to).name}; }
  return s.vertex_paths.emplace(pair, s.path_of(*route)).first->second;
}

}  // namespace tsim::cost
