#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "strategies/block_chain.hpp"
#include "strategies/exchange_plan.hpp"
#include "strategies/shadows.hpp"

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

bool stays(const ExchangeTraffic& exchange, std::int64_t expert) {
  const auto* const shadows = exchange.shadows;
  return shadows != nullptr && std::ranges::find(*shadows, expert) != shadows->end();
}

/// The operator that sends tokens to experts; null where there is none.
const models::Op* dispatch_of(const models::OpGraph& graph) {
  const auto at = std::ranges::find(graph.ops, models::OpKind::dispatch, &models::Op::kind);
  return at == graph.ops.end() ? nullptr : &*at;
}

/// Tokens [batch, sequence, hidden] that it reads.
std::int64_t tokens_of(const models::Op& dispatch) {
  const models::Shape& shape = dispatch.inputs.front().shape;
  return models::elements(shape) / shape.back().size;
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
        if (stays(exchange, static_cast<std::int64_t>(e))) { continue; }
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
  for (const models::Block& block : model.blocks) {
    const models::Op* const dispatch = is_layer(block.kind) ? dispatch_of(block.graph) : nullptr;
    for (int copy = 0; dispatch != nullptr && copy < block.count; ++copy) {
      const std::int64_t count = dispatch->space.front().size;
      draws.layers.push_back(
          route(experts.routing, {.experts = count,
                                  .top_k = std::min(model.config.moe.top_k, count),
                                  .tokens = tokens_of(*dispatch) * senders / cut,
                                  .sources = experts.ranks,
                                  .nodes = experts.nodes,
                                  .layer = static_cast<int>(draws.layers.size())}));
      std::vector<std::int64_t> shadows;
      if (experts.shadowing.on) {
        shadows = chosen_shadows(draws.layers.back(), shadow_costs(block.graph, experts));
      }
      draws.shadows.push_back(std::move(shadows));
    }
  }
  return draws;
}

double load_of(const ExpertDraws& draws, std::size_t layer, int ranks, int rank) {
  const std::vector<std::int64_t> rows =
      rank_rows(draws.layers[layer], ranks, draws.shadows[layer]);
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  return all > 0 ? static_cast<double>(rows[static_cast<std::size_t>(rank)]) * ranks / all : 1;
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
