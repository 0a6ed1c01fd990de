// Every message straight to where it belongs, all at once.

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

/// Slowest path of the messages root -> i, or i -> root.
Seconds star(const Request& request, CollectivePlan& plan, Router& router) {
  const int root = request.devices[0];
  const double part = request.payload / static_cast<double>(request.devices.size());
  Seconds slowest;
  for (const int device : request.devices.subspan(1)) {
    const bool out = request.op == CollectiveOp::scatter;
    slowest = std::max(slowest, send(plan, out ? root : device, out ? device : root, part, router));
  }
  return slowest;
}

Seconds everyone(const Request& request, CollectivePlan& plan, Router& router) {
  const double part = request.payload / static_cast<double>(request.devices.size());
  Seconds slowest;
  for (const int from : request.devices) {
    for (const int to : request.devices) {
      if (from != to) { slowest = std::max(slowest, send(plan, from, to, part, router)); }
    }
  }
  return slowest;
}

}  // namespace

CollectivePlan direct(const Request& request, Router& router) {
  CollectivePlan plan;
  switch (request.op) {
    case CollectiveOp::all_to_all: plan.latency = everyone(request, plan, router); break;
    case CollectiveOp::send_recv:
      for (std::size_t i = 0; i + 1 < request.devices.size(); ++i) {
        plan.latency = std::max(plan.latency, send(plan, request.devices[i], request.devices[i + 1],
                                                   request.payload, router));
      }
      break;
    default: plan.latency = star(request, plan, router); break;
  }
  return plan;
}

/// Barrier: in round k every rank tells the one 2^k further on, ceil(log2 n) rounds.
///   [Hensgen, Finkel, Manber, Int. J. Parallel Programming 17, 1988]
CollectivePlan dissemination(const Request& request, Router& router) {
  const std::size_t n = request.devices.size();
  CollectivePlan plan;
  for (std::size_t reach = 1; reach < n; reach *= 2) {
    Seconds slowest;
    for (std::size_t i = 0; i < n; ++i) {
      const int to = request.devices[(i + reach) % n];
      slowest = std::max(slowest, router.path(request.devices[i], to).latency);
    }
    plan.latency += slowest;
  }
  return plan;
}

}  // namespace tsim::cost::collectives
