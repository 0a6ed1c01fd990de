// Paths between devices, found once and remembered.
#include <array>
#include <optional>
#include <unordered_map>

#include "cost/routing/route_finder.hpp"
#include "cost/topology.hpp"

namespace tsim::cost {
namespace {

std::uint64_t key(VertexId a, VertexId b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) |
         static_cast<std::uint32_t>(b);
}

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The paths from one device that were asked for last. A device of a ring or a tree has few
/// neighbours, and asks for the same ones in every plan.
struct Recent {
  std::array<std::int32_t, 4> to{-1, -1, -1, -1};
  std::array<const Path*, 4> paths{};
  std::size_t next = 0;

  const Path* find(int device) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == device) { return paths[i]; }
    }
    return nullptr;
  }
  const Path& keep(int device, const Path& path) {
    to[next] = device;
    paths[next] = &path;
    next = (next + 1) % to.size();
    return path;
  }
};

}  // namespace

struct Router::State {
  const Topology* topology;
  RouteFinder finder;
  std::unordered_map<std::uint64_t, Path> device_paths;
  std::unordered_map<std::uint64_t, Path> vertex_paths;
  std::vector<Recent> recent;  // by device that sends
  std::map<std::vector<int>, LocalOrders> local_orders;

  explicit State(const Topology& t) : topology(&t), finder(t), recent(t.devices.size()) {}
  const Vertex& vertex(VertexId v) const { return topology->vertices[index(v)]; }
  Path path_of(const Route& route) const;
  Path fixed(int from, int to) const;
};

Path Router::State::path_of(const Route& route) const {
  return {finder.channels_of(route), route.latency};
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
  const auto& exits = state_->finder.exits_of(device);
  return exits.empty() ? -1 : exits[0].gateway;
}

const Path& Router::path(int from_device, int to_device) {
  State& s = *state_;
  Recent& recent = s.recent.at(index(from_device));
  if (const Path* const path = recent.find(to_device)) { return *path; }
  const std::uint64_t pair = key(from_device, to_device);
  if (const auto known = s.device_paths.find(pair); known != s.device_paths.end()) {
    return recent.keep(to_device, known->second);
  }
  const VertexId from = s.topology->devices[index(from_device)];
  const VertexId to = s.topology->devices.at(index(to_device));
  const auto found = [&]() -> Path {
    if (from == to) { return {}; }
    if (!s.topology->routes.place.empty()) { return s.fixed(from_device, to_device); }
    const bool same_node = s.vertex(from).node == s.vertex(to).node;
    const std::optional<Route> route = same_node ? s.finder.inside(from_device, to_device)
                                                 : s.finder.across(from_device, to_device);
    return route ? s.path_of(*route) : vertex_path(from, to);
  };
  return recent.keep(to_device, s.device_paths.emplace(pair, found()).first->second);
}

const Path& Router::vertex_path(VertexId from, VertexId to) {
  State& s = *state_;
  const std::uint64_t pair = key(from, to);
  if (const auto known = s.vertex_paths.find(pair); known != s.vertex_paths.end()) {
    return known->second;
  }
  const std::optional<Route> route = s.finder.graph().best(from, to, {true, -1});
  if (!route) { throw Unreachable{s.vertex(from).name, s.vertex(to).name}; }
  return s.vertex_paths.emplace(pair, s.path_of(*route)).first->second;
}

}  // namespace tsim::cost
