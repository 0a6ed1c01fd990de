// Collectives as alpha-beta costs and as the flows that they put on the wires.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  scatter,
  gather,
  all_to_all,
  send_recv,
  barrier
};
std::string_view name_of(CollectiveOp op);

/// Bytes that one device sends to another, the whole collective long.
struct Transfer {
  int from = 0, to = 0;  // devices
  double bytes = 0;      // not whole: an aggregated ring hop carries 2(n-1)/n of the buffer
};

/// A collective with its steps added up: after `latency` all transfers run at once, and it is over
/// when the last one ends.
struct CollectivePlan {
  std::string algorithm;  // which one was taken
  Seconds latency;        // all alpha terms, path latencies included
  std::vector<Transfer> transfers;
};

/// Plans `op` over `devices` (distinct; ring and tree order as given).
/// `payload` is S of the nccl-tests convention: the whole buffer of an all-reduce, the gathered or
/// unscattered buffer of an all-gather or reduce-scatter, what one rank holds in an all-to-all.
///   ring all-reduce: 2(n-1) alpha + 2(n-1)/n S / B   [Patarasuk & Yuan, JPDC 69, 2009]
///   tree all-reduce: 2 log2(n) alpha + 2 S / B, bytes halved by the second, complementary tree
///                                                    [Sanders, Speck, Traff, Par. Comp. 35, 2009]
///     over several nodes a tree inside each and the double tree between their heads
/// alpha is the latency of the path between two devices; a ring's step costs the slowest one's.
/// The first device is the root of rooted collectives and the sender of a send_recv, which goes on
/// from each device to the next one if there are more than two.
/// `algorithm` is a name of collective_algorithms(op) or "auto", which takes the fastest one alone
/// on the wires. One device costs nothing. devices.size() >= 1, payload >= 0. Throws
/// std::invalid_argument for another name and Unreachable for devices that no path joins.
CollectivePlan plan_collective(CollectiveOp op, std::string_view algorithm,
                               std::span<const int> devices, Bytes payload, Router& router);

/// Names that `op` accepts besides "auto"; never empty.
std::vector<std::string_view> collective_algorithms(CollectiveOp op);

/// Time of a plan with the wires to itself: latency plus the most loaded channel's time.
Seconds time_alone(const CollectivePlan& plan, const Topology& topology, Router& router);

}  // namespace tsim::cost
