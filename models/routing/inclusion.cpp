// How often each expert is chosen.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/routing/random.hpp"
#include "models/routing/routing.hpp"

namespace tsim::models {
namespace {

using Shares = std::vector<double>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Ranks of popularity, shuffled [Fisher and Yates].
std::vector<std::size_t> shuffled(std::size_t n, Random random) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) { std::swap(order[i - 1], order[random.below(i)]); }
  return order;
}

Shares zipf(const RoutingSpec& spec, const RoutingInput& in) {
  constexpr std::uint64_t kStream = 1;
  const auto ranks =
      shuffled(at(in.experts), Random{spec.seed, kStream, static_cast<std::uint64_t>(in.layer)});
  Shares shares;
  shares.reserve(ranks.size());
  for (const std::size_t rank : ranks) {
    shares.push_back(std::pow(static_cast<double>(rank + 1), -spec.exponent));
  }
  return shares;
}

Shares relative(const RoutingSpec& spec, const RoutingInput& in) {
  switch (spec.load) {
    case RoutingLoad::uniform: break;
    case RoutingLoad::zipf: return zipf(spec, in);
    case RoutingLoad::histogram:
    case RoutingLoad::trace: return spec.shares[spec.shares.size() == 1 ? 0 : at(in.layer)];
  }
  Shares equal(at(in.experts), 1.0);
  return equal;
}

/// Experts that a token goes to on average.
double routes_per_token(const RoutingSpec& spec, const RoutingInput& in) {
  return in.top_k == 2 ? 1 + spec.second_expert : static_cast<double>(in.top_k);
}

}  // namespace

std::vector<double> inclusion(const RoutingSpec& spec, const RoutingInput& in) {
  Shares shares = relative(spec, in);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double equal = 1 / static_cast<double>(in.experts);
  for (double& share : shares) { share += spec.balance * (equal * sum - share); }
  // No token goes to an expert twice: shares that would exceed one are one, the others grow.
  double left = std::min(routes_per_token(spec, in), static_cast<double>(in.experts));
  double open = sum;
  Shares chosen(shares.size(), 0.0);
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  for (const std::size_t e : order) {
    chosen[e] = open > 0 ? std::clamp(left * shares[e] / open, 0.0, 1.0) : 0.0;
    left -= chosen[e];
    open -= shares[e];
  }
  return chosen;
}

}  // namespace tsim::models
