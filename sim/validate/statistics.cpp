#include "sim/validate/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tsim::validate {
namespace {

/// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) { ++last; }
    const double shared = (static_cast<double>(first) + static_cast<double>(last) - 1) / 2;
    for (std::size_t i = first; i < last; ++i) { ranks[order[i]] = shared; }
    first = last;
  }
  return ranks;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Pearson's correlation.
double correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean(a), mean_b = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa == 0 || bb == 0) { return std::numeric_limits<double>::quiet_NaN(); }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

ErrorSummary summary_of(std::span<const double> errors) {
  if (errors.empty()) { return {}; }
  std::vector<double> sizes;
  sizes.reserve(errors.size());
  for (const double e : errors) { sizes.push_back(std::abs(e)); }
  ErrorSummary summary{.rows = static_cast<int>(errors.size()), .mean = mean(sizes)};
  summary.bias = mean(errors);
  summary.worst = errors[static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) -
                                                  sizes.begin())];
  std::sort(sizes.begin(), sizes.end());
  const std::size_t half = sizes.size() / 2;
  summary.median = sizes.size() % 2 == 1 ? sizes[half] : (sizes[half - 1] + sizes[half]) / 2;
  return summary;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t kLeast = 3;
  if (a.size() != b.size() || a.size() < kLeast) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::vector<double> ranks_a = ranks_of(a), ranks_b = ranks_of(b);
  return correlation(ranks_a, ranks_b);
}

}  // namespace tsim::validate
