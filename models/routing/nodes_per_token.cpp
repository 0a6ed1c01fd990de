#include "models/routing/nodes_per_token.hpp"

#include <algorithm>
#include <set>

namespace tsim::models {
namespace {

std::int64_t node_of(std::int64_t expert, const RoutingInput& in) {
  return expert * in.nodes / in.experts;
}

/// Chance that `draws` distinct ones of `pool` experts miss a node that is chosen with `share` of
/// all draws: hypergeometric where every expert is as likely.
double missed(double share, double pool, std::int64_t draws) {
  double chance = 1;
  for (std::int64_t j = 0; j < draws; ++j) {
    const auto gone = static_cast<double>(j);
    chance *= std::max(0.0, (pool * (1 - share) - gone) / (pool - gone));
  }
  return chance;
}

double of_recorded(const std::vector<std::int32_t>& routes, const RoutingInput& in) {
  const auto k = static_cast<std::size_t>(in.top_k);
  std::int64_t sum = 0;
  std::int64_t tokens = 0;
  for (std::size_t token = 0; token + k <= routes.size(); token += k) {
    std::set<std::int64_t> nodes;
    for (std::size_t i = 0; i < k; ++i) { nodes.insert(node_of(routes[token + i], in)); }
    sum += static_cast<std::int64_t>(nodes.size());
    ++tokens;
  }
  return static_cast<double>(sum) / static_cast<double>(tokens);
}

}  // namespace

double nodes_per_token(const RoutingSpec& spec, const RoutingInput& in) {
  if (in.nodes == 1) { return 1; }
  if (spec.load == RoutingLoad::trace && !spec.routes.empty()) {
    const bool one = spec.routes.size() == 1;
    return of_recorded(spec.routes[one ? 0 : static_cast<std::size_t>(in.layer)], in);
  }
  const auto all = static_cast<double>(in.experts);
  if (spec.kind == RoutingKind::node_limited && spec.node_limit < in.nodes) {
    const double limit = spec.node_limit;
    return limit * (1 - missed(1 / limit, all * limit / in.nodes, in.top_k));
  }
  std::vector<double> share(static_cast<std::size_t>(in.nodes), 0.0);
  const std::vector<double> chosen = inclusion(spec, in);
  double sum = 0;
  for (std::int64_t e = 0; e < in.experts; ++e) {
    const double p = chosen[static_cast<std::size_t>(e)];
    share[static_cast<std::size_t>(node_of(e, in))] += p;
    sum += p;
  }
  double nodes = 0;
  for (const double s : share) { nodes += 1 - missed(s / sum, all, in.top_k); }
  return nodes;
}

}  // namespace tsim::models
