#include <algorithm>
#include <numeric>
#include <set>

#include "strategies/exchange_plan.hpp"

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

/// From each rank of the group to each.
std::vector<double> bytes_of(const ExchangeTraffic& exchange, std::size_t n) {
  const double payload = to_double(exchange.payload);
  std::vector<double> bytes(n * n, payload / static_cast<double>(n));
  if (exchange.drawn == nullptr) { return bytes; }
  const models::RoutedLayer& drawn = *exchange.drawn;
  const std::size_t own = static_cast<std::size_t>(drawn.experts) / n;
  // A row's bytes: all rows that routers chose are the payloads of all ranks.
  const double row = payload * static_cast<double>(n) / static_cast<double>(drawn.routed);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      std::int64_t rows = 0;
      for (std::size_t e = j * own; e < (j + 1) * own; ++e) {
        rows += drawn.at(static_cast<int>(i), static_cast<std::int64_t>(e));
      }
      bytes[exchange.back ? j * n + i : i * n + j] = row * static_cast<double>(rows);
    }
  }
  return bytes;
}

}  // namespace

ExpertDraws draw_experts(const models::Model& model, const Strategy& strategy) {
  ExpertDraws draws;
  const ExpertParallel& experts = strategy.experts;
  if (!is_unbalanced(experts)) { return draws; }
  const std::int64_t cut =
      std::int64_t{strategy.context} * (cuts_tokens(strategy) ? strategy.tensor : 1);
  const std::int64_t senders = cuts_tokens(strategy) ? expert_tensor(strategy) : 1;
  const std::int64_t tokens = model.options.micro_batch * tokens_per_sample(model) * senders / cut;
  int layer = 0;
  for (const std::int64_t count : layer_experts(model.config)) {
    if (count == 0) { continue; }
    draws.layers.push_back(route(experts.routing, {.experts = count,
                                                   .top_k = std::min(model.config.moe.top_k, count),
                                                   .tokens = tokens,
                                                   .sources = experts.ranks,
                                                   .nodes = experts.nodes,
                                                   .layer = layer++}));
  }
  return draws;
}

double load_of(const models::RoutedLayer& layer, int ranks, int rank) {
  const std::vector<std::int64_t> rows = expert_rows(layer);
  const auto own = static_cast<std::ptrdiff_t>(layer.experts / ranks);
  const auto first = rows.begin() + rank * own;
  const auto mine = static_cast<double>(std::accumulate(first, first + own, std::int64_t{0}));
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  return all > 0 ? mine * ranks / all : 1;
}

cost::DispatchPlan plan_exchange(const Strategy& strategy, const std::vector<int>& devices,
                                 const ExchangeTraffic& exchange, cost::Router& router) {
  const auto n = static_cast<double>(devices.size());
  const std::vector<double> bytes = bytes_of(exchange, devices.size());
  cost::RowTraffic traffic{.bytes = bytes};
  const ExpertParallel& e = strategy.experts;
  if (e.dispatch == Dispatch::rails) {
    const double nodes = nodes_of(devices, router.topology());
    const int limit =
        e.routing.kind == models::RoutingKind::node_limited ? e.routing.node_limit : 0;
    // Choices fall on the experts of so many nodes.
    const double reached = limit > 0 ? std::min<double>(limit, nodes) : nodes;
    const double experts = e.experts * reached / nodes;
    const double chosen = std::min<double>(e.chosen, experts);
    traffic.node_share = cost::mean_groups_hit(experts, reached, chosen) / chosen;
    traffic.device_share = cost::mean_groups_hit(experts, n * reached / nodes, chosen) / chosen;
  }
  return plan_dispatch(way_of(e.dispatch), devices, traffic, router);
}

}  // namespace tsim::strategies
