#include "cost/routing/joined.hpp"

#include <numeric>

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

}  // namespace

std::optional<Unreachable> devices_apart(const Topology& topology) {
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
