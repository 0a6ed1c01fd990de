// What was measured on a device: kernels, copies and collectives by shape, where each figure comes
// from, and surfaces fitted through them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/dtype.hpp"
#include "models/units.hpp"

namespace tsim::cost {

struct Device;

/// Kinds of things that are timed; a work line begins with the name (docs/measure.md).
enum class PointKind : std::uint8_t {
  gemm,
  bmm,
  attention,
  map,
  layernorm,
  softmax,
  cross_entropy,
  adam,
  memcpy,
  launch,
  collective,
  overlap,
  pair,
  grouped
};

/// Points of one series differ in their shape only; they are each other's neighbours.
struct SeriesKey {
  PointKind kind{};
  models::DType dtype = models::DType::fp32;  // of kinds that have none: fp32
  std::uint8_t variant = 0;                   // transposes, operation, direction: by kind
  auto operator<=>(const SeriesKey&) const = default;
};

inline constexpr std::size_t kMostCounts = 5;
using Counts = std::array<std::int64_t, kMostCounts>;  // unused ones are 1

/// A thing that can be timed: a series and its shape, the counts at the end of its work line.
struct Subject {
  SeriesKey series;
  Counts shape{1, 1, 1, 1, 1};
  auto operator<=>(const Subject&) const = default;
};

/// "gemm bf16 nt 4096 1024 1024"; nothing for a text that is no work line.
std::optional<Subject> subject_of(std::string_view line);
std::string line_of(const Subject& subject);
/// "gemm bf16 nt"
std::string name_of(const SeriesKey& key);
/// Counts in a shape of this kind.
std::size_t counts_of(PointKind kind);
/// The variant that these words name ("nt"; "fwd", "causal"); they are known ones.
SeriesKey series_of(PointKind kind, models::DType dtype, std::span<const std::string_view> words);

struct MeasuredPoint {
  Counts shape{1, 1, 1, 1, 1};
  Seconds median{}, low{}, high{};  // with the quartiles
  Seconds cold{};                   // the same with operands that no cache holds; 0: not measured
  int count = 0;                    // batches that were timed; 0: not stated
  int source = 0;                   // of Measured::sources
  // Set by index_points().
  std::array<double, kMostCounts> at{};  // log2 of the shape
  double ratio = 1.0;                    // time over the smooth roofline's
};

/// log2(time / smooth roofline) as a polynomial of x_i = log2(shape), degree 1 or 2, by least
/// squares. It holds inside the box of its points.
struct Surface {
  std::vector<double> coefficients{};  // of 1, x_i, then x_i x_j with i <= j
  std::vector<double> low{}, high{};   // the box, log2
  double residual = 0;                 // root of the mean square, as a share of the time
  int points = 0;
};

struct Series {
  SeriesKey key;
  std::vector<MeasuredPoint> points{};  // by shape
  std::optional<Surface> surface{};
};

/// Where points come from: the machine's own words ("device": "NVIDIA H200", "driver": ...).
struct Provenance {
  std::vector<std::pair<std::string, std::string>> facts;
};

/// time = alpha + bytes / rate for messages of `least` to `most` bytes.
struct AlphaBeta {
  std::string operation{};  // "all_reduce", "h2d"
  int ranks = 0;            // 0: a copy
  Seconds alpha{};
  BytesPerSecond rate{};
  Bytes least{}, most{};
  double residual = 0;  // root of the mean square, as a share of the time
  int points = 0;
};

struct Measured {
  std::vector<Provenance> sources;
  std::vector<Series> series;  // by key
  std::vector<AlphaBeta> links;

  const Series* find(const SeriesKey& key) const;
};

/// The time that counts for a kernel among many others: the cold one where it was measured.
Seconds time_of(const MeasuredPoint& point);

/// Adds a point; of two with the same shape the first stands.  Returns whether it was added.
bool add_point(Measured& measured, const SeriesKey& key, const MeasuredPoint& point);

/// What a roofline without tiles gives for a subject: max(FLOPs / peak, bytes / bandwidth) + start.
/// None of kinds that are no kernels.   [Williams, Waterman, Patterson, CACM 52(4), 2009]
std::optional<Seconds> smooth_time(const Subject& subject, const Device& device);

/// Computes what lookups need of every point; the device's peaks are the scale.
void index_points(Measured& measured, const Device& device);

/// How a time was found, best first.
enum class Origin : std::uint8_t { measured, interpolated, fitted, roofline };
inline constexpr int kOrigins = 4;
std::string_view name_of(Origin origin);

struct FoundRatio {
  double ratio = 1.0;  // of the time to the smooth roofline's
  Origin origin = Origin::roofline;
};

/// The ratio at `shape`: of the point itself, or the mean over the four nearest points in log2 of
/// the shape, weighted by the inverse square of the distance, when the nearest is no farther than
/// a factor of four; beyond that the surface's value at the nearest place of its box. Nothing
/// without points near by and surface.
std::optional<FoundRatio> find_ratio(const Series& series, const Counts& shape);

/// The surface's ratio at `shape`, moved into the box.
double ratio_at(const Surface& surface, const Counts& shape);

}  // namespace tsim::cost
