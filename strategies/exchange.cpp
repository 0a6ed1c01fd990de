#include "strategies/exchange.hpp"

#include <algorithm>
#include <set>

#include "cost/dispatch.hpp"

namespace tsim::strategies {
namespace {

cost::DispatchWay way_of(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::hierarchical:
    case Dispatch::two_level: return cost::DispatchWay::hierarchical;
    case Dispatch::rails: return cost::DispatchWay::rails;
    case Dispatch::direct:
    case Dispatch::all_gather: break;
  }
  return cost::DispatchWay::direct;
}

double nodes_of(const std::vector<int>& devices, const cost::Topology& topology) {
  std::set<std::int32_t> nodes;
  for (const int device : devices) { nodes.insert(node_of(topology, device)); }
  return static_cast<double>(nodes.size());
}

}  // namespace

cost::CollectivePlan exchange_plan(const Strategy& strategy, const std::vector<int>& devices,
                                   Bytes payload, cost::Router& router) {
  const auto n = static_cast<double>(devices.size());
  const std::vector<double> bytes(devices.size() * devices.size(), to_double(payload) / n);
  cost::RowTraffic traffic{.bytes = bytes};
  const ExpertParallel& e = strategy.experts;
  if (e.dispatch == Dispatch::rails) {
    const double nodes = nodes_of(devices, router.topology());
    // Choices fall on the experts of so many nodes.
    const double reached = e.nodes > 0 ? std::min<double>(e.nodes, nodes) : nodes;
    const double experts = e.experts * reached / nodes;
    const double chosen = std::min<double>(e.chosen, experts);
    traffic.node_share = cost::mean_groups_hit(experts, reached, chosen) / chosen;
    traffic.device_share = cost::mean_groups_hit(experts, n * reached / nodes, chosen) / chosen;
  }
  return plan_dispatch(way_of(e.dispatch), devices, traffic, router);
}

}  // namespace tsim::strategies
