// Which way every piece of a buffer takes: trees and paths that load no link more than they must.
#pragma once

#include <span>
#include <vector>

#include "cost/synthesis/ways.hpp"

namespace tsim::cost::synthesis {

/// `bytes` from one rank to another, or to all others (target -1).
struct Demand {
  int root = 0;
  int target = -1;
  double bytes = 0;
};

struct RouteHop {
  int from = 0, to = 0;
  bool operator==(const RouteHop&) const = default;
};

/// Hops of one demand, each from the root or from a rank that an earlier one reaches.
using Route = std::vector<RouteHop>;

/// What a route is to be good at.
struct Taste {
  double depth = 0;    // 0: the least load in all, whatever the way (Prim's trees); 1: the shortest
                       // way to each rank (Dijkstra's); between: a bit of both
  double latency = 1;  // share of latencies in what an arc costs: with many pieces on their way at
                       // once few of them matter
  int rounds = 0;      // of taking demands up and laying them again around what is loaded
  bool operator==(const Taste&) const = default;
};

/// Ranks go round in places: rank r of every run of `size` to place r + offset of the same run.
/// Wires must be alike after such a turn; then routes of one rank turned are those of another.
///   [Shah et al., "TACCL", arXiv:2111.04867, sec. 3.2]
struct Rotation {
  int offset = 1, size = 1;
  bool operator==(const Rotation&) const = default;
};

/// A route for every demand. Demands are laid one by one on what the ones before them load: an
/// arc costs (a share of) its latency and its bytes' time on each channel, times a price that grows
/// with what the channel is loaded with, up to 1 for the most loaded one, the steeper the later.
/// The round with the smallest largest load is kept.
///   [multiplicative weights: Garg & Koenemann, FOCS 1998; laying again: McMurchie & Ebeling,
///    "PathFinder", FPGA 1995]
/// All ranks must reach all others. `rotations`: see Rotation; turns that lead over ways that are
/// not open are left out.
std::vector<Route> find_routes(const Ways& ways, std::span<const Demand> demands, Taste taste,
                               std::span<const Rotation> rotations = {});

/// Seconds that each channel is busy.
std::vector<double> loads(const Ways& ways, std::span<const Demand> demands,
                          std::span<const Route> routes);

}  // namespace tsim::cost::synthesis
