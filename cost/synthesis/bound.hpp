// What no program can do better than on given wires.
#pragma once

#include <span>
#include <string>

#include "cost/collectives.hpp"
#include "cost/synthesis/ways.hpp"

namespace tsim::cost::synthesis {

/// A time that no program beats in which ranks send over given ways, and what it comes from.
struct LowerBound {
  Seconds time{};
  std::string reason;
};

/// The largest of
/// - the way to the farthest rank;
/// - what must cross into some ranks over the channels that lead there (those of each rank, and
///   those beyond each channel), in an all-reduce also 2 (m - 1) S between m such sets, since m - 1
///   of them must send before the first is complete and m - 1 receive afterwards
///   [Patarasuk & Yuan, JPDC 69, 2009];
/// - what all traffic costs at prices of the channels that sum to one, the best prices that a
///   search finds (the dual of the least largest load over all divisible routes);
/// the last two plus the shortest latency. Programs add in ranks: a switch that adds may do better.
LowerBound lower_bound(CollectiveOp op, Bytes payload, const Ways& ways);

}  // namespace tsim::cost::synthesis
