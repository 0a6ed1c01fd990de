// Collectives as alpha-beta costs and as the flows that they put on the wires.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

/// Bytes that one device sends to another, the whole collective long.
struct Transfer {
  int from = 0, to = 0;  // devices
  double bytes = 0;      // not whole: an aggregated ring hop carries 2(n-1)/n of the buffer
};

/// What a library adds to the wires' own costs when a collective runs step by step.
struct StepCosts {
  Seconds once{};                  // before the first step
  Seconds step{}, network_step{};  // each step inside a node, or between nodes, beside its path
  Seconds least{};                 // of the whole collective
  double share = 1.0;              // of the wires' bandwidth that payload gets
};

/// A collective with its steps added up: after `latency` all transfers run at once, and it is over
/// when the last one ends.
struct CollectivePlan {
  std::string algorithm;  // which one was taken
  Seconds latency;        // all alpha terms, path latencies included
  std::vector<Transfer> transfers;
  std::string protocol{};  // the regime of the library that it runs in
  StepCosts costs{};       // that regime's, for its steps one by one
};

/// Plans `op` over `devices` (distinct, but that a send_recv may end where it began: a ring).
/// `payload` is S of the nccl-tests convention: the whole buffer of an all-reduce, the gathered or
/// unscattered buffer of an all-gather or reduce-scatter, what one rank holds in an all-to-all.
///   ring all-reduce: 2(n-1) alpha + 2(n-1)/n S / B   [Patarasuk & Yuan, JPDC 69, 2009]
///   tree all-reduce: 2 log2(n) alpha + 2 S / B, bytes halved by the second, complementary tree
///                                                    [Sanders, Speck, Traff, Par. Comp. 35, 2009]
///     over several nodes a tree inside each and the double tree between their heads
/// alpha is the latency of the path between two devices plus the regime's step. Rings go round in
/// the order given where wires are all alike, else in the best order found, several at once where
/// links or NICs would lie idle. The first device is the root of rooted collectives and the sender
/// of a send_recv, which goes on from each device to the next one if there are more than two.
/// `algorithm` is a name of collective_algorithms(op) or "auto", which takes the one of those that
/// libraries choose from that is fastest alone on the wires. Regimes are chosen the same way.
/// One device costs nothing. devices.size() >= 1, payload >= 0. Throws std::invalid_argument for
/// another name or an algorithm that these devices cannot run, and Unreachable for devices that no
/// path joins.
CollectivePlan plan_collective(CollectiveOp op, std::string_view algorithm,
                               std::span<const int> devices, Bytes payload, Router& router);

/// Names that `op` accepts besides "auto"; never empty.
std::vector<std::string_view> collective_algorithms(CollectiveOp op);

/// Those of them that "auto" chooses from: what communication libraries have.
std::vector<std::string_view> automatic_algorithms(CollectiveOp op);

/// Every device sends its own number of bytes to every other, `bytes[i * n + j]` from the i-th to
/// the j-th; straight, all at once.
CollectivePlan plan_all_to_all(std::span<const int> devices, std::span<const double> bytes,
                               Router& router);

/// Workers push `payload` to servers, an equal part to each, and pull as much.
CollectivePlan plan_parameter_servers(std::span<const int> workers, std::span<const int> servers,
                                      Bytes payload, Router& router);

/// Time of a plan with the wires to itself: latency plus the most loaded channel's time.
Seconds time_alone(const CollectivePlan& plan, const Topology& topology, Router& router);

/// Bus bandwidth over algorithm bandwidth as nccl-tests prints them: what each rank has to send or
/// receive, as a share of the payload.   [NVIDIA/nccl-tests, doc/PERFORMANCE.md]
double bus_factor(CollectiveOp op, int ranks);

}  // namespace tsim::cost
