// Rings, and the chains that broadcasts and reductions make of them.
#include <utility>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

/// Bytes over each hop, as a multiple of the payload, and steps, of a ring of n.
/// All-reduce is a reduce-scatter and an all-gather, each n - 1 steps of S / n
/// [Patarasuk & Yuan, JPDC 69, 2009]. A chain moves all of S over each of its n - 1 hops, cut so
/// finely that filling it costs the latency only.
std::pair<int, double> steps_and_share(CollectiveOp op, int n) {
  switch (op) {
    case CollectiveOp::all_reduce: return {2 * (n - 1), 2.0 * (n - 1) / n};
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_gather: return {n - 1, 1.0 * (n - 1) / n};
    default: return {n - 1, 1.0};
  }
}

}  // namespace

CollectivePlan ring(const Request& request, Router& router) {
  const std::size_t n = request.devices.size();
  const bool chain = request.op == CollectiveOp::broadcast || request.op == CollectiveOp::reduce;
  const auto [steps, share] = steps_and_share(request.op, static_cast<int>(n));
  CollectivePlan plan;
  Seconds slowest;
  for (std::size_t i = 0; i < (chain ? n - 1 : n); ++i) {
    int from = request.devices[i], to = request.devices[(i + 1) % n];
    if (request.op == CollectiveOp::reduce) { std::swap(from, to); }
    slowest = std::max(slowest, send(plan, from, to, share * request.payload, router));
  }
  plan.latency = steps * slowest;
  return plan;
}

}  // namespace tsim::cost::collectives
