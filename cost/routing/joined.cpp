#include "cost/routing/joined.hpp"

#include <map>
#include <numeric>
#include <vector>

namespace tsim::cost {
namespace {

std::size_t index(VertexId v) { return static_cast<std::size_t>(v); }

/// Sets of vertices that links join [Tarjan, JACM 22, 1975].
class Pieces {
 public:
  explicit Pieces(std::size_t vertices) : parent_(vertices) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  VertexId of(VertexId v) {
    while (parent_[index(v)] != v) {
      parent_[index(v)] = parent_[index(parent_[index(v)])];
      v = parent_[index(v)];
    }
    return v;
  }
  void join(VertexId a, VertexId b) { parent_[index(of(a))] = of(b); }

 private:
  std::vector<VertexId> parent_;
};

/// Two devices whose places no fixed route joins.
std::optional<Unreachable> places_apart(const Topology& topology) {
  const FixedRoutes& routes = topology.routes;
  std::map<std::int32_t, std::vector<std::size_t>> of_place;  // two devices of each at most
  for (std::size_t i = 0; i < routes.place.size() && i < topology.devices.size(); ++i) {
    std::vector<std::size_t>& devices = of_place[routes.place[i]];
    if (devices.size() < 2) { devices.push_back(i); }
  }
  const auto name = [&](std::size_t device) {
    return topology.vertices[index(topology.devices[device])].name;
  };
  for (const auto& [from, senders] : of_place) {
    for (const auto& [to, receivers] : of_place) {
      const bool alone = from == to && senders.size() < 2;
      if (alone || routes.between.contains({from, to})) { continue; }
      return Unreachable{name(senders.front()), name(receivers.back())};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Unreachable> devices_apart(const Topology& topology) {
  if (!topology.routes.place.empty()) { return places_apart(topology); }
  Pieces pieces(topology.vertices.size());
  for (const Link& link : topology.links) { pieces.join(link.a, link.b); }
  const VertexId first = topology.devices.at(0);
  for (const VertexId device : topology.devices) {
    if (pieces.of(device) != pieces.of(first)) {
      return Unreachable{topology.vertices[index(first)].name,
                         topology.vertices[index(device)].name};
    }
  }
  return std::nullopt;
}

}  // namespace tsim::cost
