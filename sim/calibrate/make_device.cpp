#include "sim/calibrate/make_device.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "cost/fit.hpp"
#include "cost/kernel_subject.hpp"

namespace tsim::calibrate {
namespace {

using cost::PointKind;

constexpr double kFastest = 0.9;

/// Whether all programs run the same vendor library for it.
bool is_shared(PointKind kind) {
  switch (kind) {
    case PointKind::gemm:
    case PointKind::bmm:
    case PointKind::grouped:
    case PointKind::memcpy:
    case PointKind::launch:
    case PointKind::collective:
    case PointKind::overlap:
    case PointKind::pair: return true;
    default: return false;
  }
}

bool is_possible(const ImportedPoint& p, const cost::Device& device) {
  const std::optional<Seconds> smooth = smooth_time(p.subject, device);
  if (!smooth) { return true; }
  // A loss may keep two numbers of a row instead of writing its probabilities.
  const cost::SeriesKey& key = p.subject.series;
  const bool reads_alone = key.kind == PointKind::cross_entropy && key.variant == 0;
  // The start of a kernel overlaps with the one before it when nothing else is in between.
  return time_of(p.point) > (reads_alone ? 0.5 : 1.0) * kFastest * (*smooth - device.launch);
}

/// The program whose kernels a series is of.
using Owners = std::map<cost::SeriesKey, std::string>;

Taken take(const ImportedPoints& file, int source, const cost::Device& device, Owners& owners,
           cost::Measured& measured) {
  Taken taken;
  for (const ImportedPoint& p : file.points) {
    const cost::SeriesKey& key = p.subject.series;
    if (!is_possible(p, device)) {
      ++taken.impossible;
      continue;
    }
    const bool mine =
        is_shared(key.kind) || owners.try_emplace(key, file.format).first->second == file.format;
    cost::MeasuredPoint point = p.point;
    point.source = source;
    ++(mine && add_point(measured, key, point) ? taken.points : taken.repeated);
  }
  return taken;
}

/// Sizes and times of a series of messages: copies, or collectives of one number of ranks.
void add_links(const cost::Series& series, cost::Measured& measured) {
  const bool copies = series.key.kind == PointKind::memcpy;
  std::map<std::int64_t, std::vector<cost::Timed>> by_ranks;
  for (const cost::MeasuredPoint& p : series.points) {
    const std::int64_t bytes = p.shape[copies ? 0 : 1];
    by_ranks[copies ? 0 : p.shape[0]].push_back(
        {static_cast<double>(bytes), cost::time_of(p).value});
  }
  const std::string name = cost::name_of(series.key);
  for (const auto& [ranks, points] : by_ranks) {
    if (points.size() < 2) { continue; }
    for (cost::AlphaBeta link : cost::fit_links(points)) {
      link.operation = name.substr(name.find(' ') + 1);
      link.ranks = static_cast<int>(ranks);
      measured.links.push_back(std::move(link));
    }
  }
}

}  // namespace

Ceilings ceilings(std::span<const ImportedPoint> points, models::DType dtype) {
  // Less would fit a cache: it says nothing of the memory.
  constexpr double kLarge = 32e6;
  Ceilings best;
  for (const ImportedPoint& p : points) {
    const cost::SeriesKey& key = p.subject.series;
    const double seconds = time_of(p.point).value;
    if (key.kind == PointKind::gemm && key.dtype == dtype) {
      best.product = std::max(best.product, FlopsPerSecond{smooth_flops(p.subject) / seconds});
    }
    const double bytes = smooth_bytes(p.subject);
    if (key.kind == PointKind::map && bytes >= kLarge) {
      best.memory = std::max(best.memory, BytesPerSecond{bytes / seconds});
    }
  }
  return best;
}

Calibration calibrate(std::span<const ImportedPoints> files, const cost::Device& device) {
  Calibration result;
  Owners owners;
  for (std::size_t i = 0; i < files.size(); ++i) {
    result.measured.sources.push_back(files[i].source);
    result.taken.push_back(take(files[i], static_cast<int>(i), device, owners, result.measured));
  }
  index_points(result.measured, device);
  for (cost::Series& series : result.measured.series) {
    if (smooth_time({series.key, series.points.front().shape}, device)) {
      series.surface = cost::fit_surface(series);
    }
  }
  for (const cost::Series& series : result.measured.series) {
    if (series.key.kind == PointKind::memcpy || series.key.kind == PointKind::collective) {
      add_links(series, result.measured);
    }
  }
  return result;
}

}  // namespace tsim::calibrate
