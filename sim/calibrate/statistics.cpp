#include "sim/calibrate/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tsim::calibrate {
namespace {

/// Of sorted values; between two of them in proportion.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double middle = quantile(times, 0.5);
  std::vector<double> distances;
  distances.reserve(times.size());
  for (const double time : times) { distances.push_back(std::abs(time - middle)); }
  std::sort(distances.begin(), distances.end());
  const double limit = std::max(5 * quantile(distances, 0.5), 0.02 * middle);
  Summary summary;
  std::vector<double> kept;
  for (const double time : times) {
    (std::abs(time - middle) > limit ? summary.outliers : kept).push_back(time);
  }
  summary.median = quantile(kept, 0.5);
  summary.low = quantile(kept, 0.25);
  summary.high = quantile(kept, 0.75);
  summary.count = static_cast<int>(kept.size());
  return summary;
}

double uncertainty(const Summary& summary) {
  return 1.57 * (summary.high - summary.low) / std::sqrt(summary.count) / summary.median;
}

}  // namespace tsim::calibrate
