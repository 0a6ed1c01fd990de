#include "cost/measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/device.hpp"

namespace tsim::cost {
namespace {

/// Points farther than this, in factors of two, say nothing about a shape.
constexpr double kFar = 2.0;

std::array<double, kMostCounts> logs(const Counts& shape) {
  std::array<double, kMostCounts> at{};
  std::transform(shape.begin(), shape.end(), at.begin(),
                 [](std::int64_t n) { return std::log2(static_cast<double>(n)); });
  return at;
}

double squared_distance(const std::array<double, kMostCounts>& a,
                        const std::array<double, kMostCounts>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kMostCounts; ++i) { sum += (a[i] - b[i]) * (a[i] - b[i]); }
  return sum;
}

/// The four nearest points of a series, nearest first.
class Nearest {
 public:
  void offer(double distance, double ratio) {
    if (distance >= worst()) { return; }
    std::size_t i = kKept - 1;
    for (; i > 0 && best_[i - 1].distance > distance; --i) { best_[i] = best_[i - 1]; }
    best_[i] = {distance, ratio};
  }
  double worst() const { return best_.back().distance; }
  double first() const { return best_.front().distance; }
  /// Mean ratio, weighted by the inverse of the squared distance.
  double mean() const {
    double sum = 0;
    double weights = 0;
    for (const One& one : best_) {
      if (std::isinf(one.distance)) { break; }
      sum += one.ratio / one.distance;
      weights += 1 / one.distance;
    }
    return sum / weights;
  }

 private:
  static constexpr std::size_t kKept = 4;
  struct One {
    double distance = std::numeric_limits<double>::infinity();  // squared
    double ratio = 1;
  };
  std::array<One, kKept> best_{};
};

bool has_first_within(const MeasuredPoint& point, double first, const Nearest& nearest) {
  const double away = point.at[0] - first;
  return away * away < nearest.worst();
}

/// Points are sorted by their first count, so those too far along it alone are never looked at.
Nearest nearest_points(const Series& series, const std::array<double, kMostCounts>& at) {
  const auto begin = series.points.begin();
  const auto middle = std::partition_point(begin, series.points.end(),
                                           [&](const MeasuredPoint& p) { return p.at[0] < at[0]; });
  Nearest nearest;
  auto below = middle;
  auto above = middle;
  while (true) {
    const bool up = above != series.points.end() && has_first_within(*above, at[0], nearest);
    const bool down = below != begin && has_first_within(*(below - 1), at[0], nearest);
    if (!up && !down) { return nearest; }
    if (up) {
      nearest.offer(squared_distance(above->at, at), above->ratio);
      ++above;
    }
    if (down) {
      --below;
      nearest.offer(squared_distance(below->at, at), below->ratio);
    }
  }
}

}  // namespace

const Series* Measured::find(const SeriesKey& key) const {
  const auto at = std::lower_bound(series.begin(), series.end(), key,
                                   [](const Series& s, const SeriesKey& k) { return s.key < k; });
  return at != series.end() && at->key == key ? &*at : nullptr;
}

Seconds time_of(const MeasuredPoint& point) {
  return point.cold.value > 0 ? point.cold : point.median;
}

bool add_point(Measured& measured, const SeriesKey& key, const MeasuredPoint& point) {
  auto at = std::lower_bound(measured.series.begin(), measured.series.end(), key,
                             [](const Series& s, const SeriesKey& k) { return s.key < k; });
  if (at == measured.series.end() || at->key != key) {
    at = measured.series.insert(at, Series{.key = key});
  }
  const auto place =
      std::lower_bound(at->points.begin(), at->points.end(), point.shape,
                       [](const MeasuredPoint& p, const Counts& shape) { return p.shape < shape; });
  if (place != at->points.end() && place->shape == point.shape) { return false; }
  at->points.insert(place, point);
  return true;
}

void index_points(Measured& measured, const Device& device) {
  for (Series& series : measured.series) {
    for (MeasuredPoint& point : series.points) {
      point.at = logs(point.shape);
      const std::optional<Seconds> smooth = smooth_time({series.key, point.shape}, device);
      point.ratio = smooth ? time_of(point) / *smooth : 1.0;
    }
  }
}

double ratio_at(const Surface& surface, const Counts& shape) {
  const std::array<double, kMostCounts> at = logs(shape);
  const std::size_t n = surface.low.size();
  std::array<double, kMostCounts> x{};
  for (std::size_t i = 0; i < n; ++i) { x[i] = std::clamp(at[i], surface.low[i], surface.high[i]); }
  double sum = surface.coefficients[0];
  for (std::size_t i = 0; i < n; ++i) { sum += surface.coefficients[1 + i] * x[i]; }
  std::size_t term = 1 + n;
  if (surface.coefficients.size() == term) { return std::exp2(sum); }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) { sum += surface.coefficients[term++] * x[i] * x[j]; }
  }
  return std::exp2(sum);
}

std::optional<FoundRatio> find_ratio(const Series& series, const Counts& shape) {
  const Nearest nearest = nearest_points(series, logs(shape));
  if (nearest.first() == 0) {
    const auto at =
        std::lower_bound(series.points.begin(), series.points.end(), shape,
                         [](const MeasuredPoint& p, const Counts& s) { return p.shape < s; });
    return FoundRatio{at->ratio, Origin::measured};
  }
  if (nearest.first() <= kFar * kFar) { return FoundRatio{nearest.mean(), Origin::interpolated}; }
  if (series.surface) { return FoundRatio{ratio_at(*series.surface, shape), Origin::fitted}; }
  // A kernel of one count is bound by memory beyond its largest point as it is there.
  const bool larger = counts_of(series.key.kind) == 1 && !series.points.empty() &&
                      shape[0] > series.points.back().shape[0];
  if (larger) { return FoundRatio{series.points.back().ratio, Origin::fitted}; }
  return std::nullopt;
}

}  // namespace tsim::cost
