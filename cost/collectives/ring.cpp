// Rings, and the chains that broadcasts and reductions make of them.
#include "cost/collectives/algorithms.hpp"
#include "cost/collectives/ring_orders.hpp"

namespace tsim::cost::collectives {
namespace {

/// What goes over each hop, as a multiple of the payload. An all-reduce is a reduce-scatter and an
/// all-gather, each n - 1 steps of S / n [Patarasuk & Yuan, JPDC 69, 2009]. A chain moves all of S
/// over each of its n - 1 hops, cut so finely that filling it costs the latency only.
double share(CollectiveOp op, double n) {
  switch (op) {
    case CollectiveOp::all_reduce: return 2 * (n - 1) / n;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_gather: return (n - 1) / n;
    default: return 1;
  }
}

/// A piece of the buffer goes along n - 1 hops of a ring, then, in an all-reduce, along the next
/// n - 1: once or twice round but for the hop before its start, and the one before that.
Seconds way_round(CollectiveOp op, const std::vector<Seconds>& hops) {
  Seconds round;
  for (const Seconds hop : hops) { round += hop; }
  Seconds least = round;
  const bool twice = op == CollectiveOp::all_reduce;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const Seconds next = hops[(i + 1) % hops.size()];
    least = std::min(least, twice ? hops[i] + next : hops[i]);
  }
  return twice ? 2 * round - least : round - least;
}

}  // namespace

void ring(const Request& request, Draft& draft) {
  const bool chain = request.op == CollectiveOp::broadcast || request.op == CollectiveOp::reduce;
  const std::vector<Ring> rings = ring_orders(request.devices, draft.router());
  const double bytes = share(request.op, static_cast<double>(request.devices.size())) *
                       request.payload / static_cast<double>(rings.size());
  Seconds slowest;
  for (Ring order : rings) {
    if (chain) {
      std::rotate(order.begin(), std::ranges::find(order, request.devices[0]), order.end());
    }
    std::vector<Seconds> hops;
    Seconds along;
    for (std::size_t i = 0; i < (chain ? order.size() - 1 : order.size()); ++i) {
      int from = order[i], to = order[(i + 1) % order.size()];
      if (request.op == CollectiveOp::reduce) { std::swap(from, to); }
      hops.push_back(draft.send(from, to, bytes));
      along += hops.back();
    }
    slowest = std::max(slowest, chain ? along : way_round(request.op, hops));
  }
  draft.add_latency(slowest);
}

}  // namespace tsim::cost::collectives
