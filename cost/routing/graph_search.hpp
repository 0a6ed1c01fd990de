// Least-cost routes through a topology's graph.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

/// A link crossed from `from`.
struct Hop {
  std::int32_t link = 0;
  VertexId from = 0;
  bool operator==(const Hop&) const = default;
};

struct Route {
  std::vector<Hop> hops;
  Seconds latency{};
  BytesPerSecond bandwidth = kUnlimited;  // of the slowest link
};

/// What a route minimises: the time of a 1 MiB message.
Seconds message_time(const Route& route);
/// Whether `a` takes less time, or the same and fewer hops.
bool better(const Route& a, const Route& b);
void append(Route& route, const Route& more);

/// Which vertices a search may pass: those of one node, those outside every node (node -1), or
/// all. Where it starts and ends may lie outside.
struct Area {
  bool all = false;
  std::int32_t node = -1;
};

class GraphSearch {
 public:
  explicit GraphSearch(const Topology& topology);

  /// The best route, if there is any. Of equally good ones, `spread` chooses: at each vertex the
  /// (spread mod choices)-th way on, and spread / choices goes on. 0 takes the lowest vertices.
  /// Devices are not passed through. `limit_kind`: only links of this kind.
  std::optional<Route> best(VertexId from, VertexId to, Area area, std::uint64_t spread = 0,
                            std::optional<LinkKind> limit_kind = {});
  /// Number of different values of `spread` that the last best() could tell apart.
  std::uint64_t choices() const { return choices_; }
  /// Vertices of other areas that are wired to what can be reached from `from` in its own.
  std::vector<VertexId> edge(VertexId from);
  /// The route the other way round.
  Route reversed(const Route& route) const;

  std::span<const std::int32_t> links_of(VertexId v) const;
  VertexId other_end(std::int32_t link, VertexId v) const;

 private:
  /// Cost found for a vertex from one end; valid when `round` is that of the search.
  struct Label {
    int round = 0;
    std::int64_t cost = 0;
  };
  struct Query {
    VertexId from = 0, to = 0;
    Area area;
    BytesPerSecond above{};  // only faster links
    std::optional<LinkKind> kind;
  };
  class Frontier;

  bool usable(const Query& q, std::int32_t link, VertexId next) const;
  std::int64_t cost(std::int32_t link) const { return costs_[static_cast<std::size_t>(link)]; }
  std::int64_t search(const Query& q);
  std::optional<Route> trace(const Query& q, std::int64_t total, std::uint64_t spread);
  void complete(const Query& q, std::int64_t total);

  const Topology* topology_;
  std::vector<std::int32_t> first_, incident_;  // compressed rows: links of each vertex
  std::vector<std::int64_t> costs_;  // by link: latency in femtoseconds, whole so that equal ways
                                     // are seen to be equal, times 64; plus one for the hop
  std::array<std::vector<Label>, 2> labels_;  // from the start, from the end
  std::vector<VertexId> touched_;             // labelled from the start in the last search
  int round_ = 0;
  std::uint64_t choices_ = 1;
};

}  // namespace tsim::cost
