// Routes between devices, put together from parts that are searched for in small graphs and
// remembered: device to the edge of its node, edge to edge through the network, and the mirror
// image of the first.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "cost/routing/graph_search.hpp"

namespace tsim::cost {

class RouteFinder {
 public:
  /// The outer vertex at which a node's traffic leaves, and the way there.
  struct Exit {
    VertexId gateway = 0;
    Route route;
  };

  explicit RouteFinder(const Topology& topology) : topology_(&topology), graph_(topology) {}

  GraphSearch& graph() { return graph_; }
  /// Between two devices of one node.
  std::optional<Route> inside(int from, int to);
  /// Between two nodes: the best way through the edges of both.
  std::optional<Route> across(int from, int to);
  /// Ways out of a device's node, one for each outer vertex that its NIC (or any) is wired to.
  const std::vector<Exit>& exits_of(int device);
  /// The equally good ways from one outer vertex to another; none: no way. A receiving device takes
  /// the (its number mod their number)-th.
  const std::vector<Route>& core_routes(VertexId from, VertexId to);
  /// The channels of a route in order of travel.
  std::vector<ChannelId> channels_of(const Route& route) const;

 private:
  std::optional<Route> by_way_of(VertexId from, VertexId stop, VertexId to);
  std::optional<Route> wire(VertexId from, VertexId to) const;
  const Vertex& vertex(VertexId v) const {
    return topology_->vertices[static_cast<std::size_t>(v)];
  }

  const Topology* topology_;
  GraphSearch graph_;
  std::unordered_map<int, std::vector<Exit>> exits_;            // by device
  std::unordered_map<std::uint64_t, std::vector<Route>> core_;  // by pair of outer vertices
};

}  // namespace tsim::cost
