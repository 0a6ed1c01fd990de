// Paths between devices, found once and remembered.
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

}  // namespace

struct Router::State {
  const Topology* topology;
  RouteFinder finder;
  std::unordered_map<std::uint64_t, Path> device_paths;
  std::unordered_map<std::uint64_t, Path> vertex_paths;
  std::map<std::vector<int>, LocalOrders> local_orders;

  explicit State(const Topology& t) : topology(&t), finder(t) {}
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
      same_node ? s.finder.inside(from_device, to_device) : s.finder.across(from_device, to_device);
  const Path found = route ? s.path_of(*route) : vertex_path(from, to);
  return s.device_paths.emplace(pair, found).first->second;
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
