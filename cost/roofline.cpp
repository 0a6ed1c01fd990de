#include "cost/roofline.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "cost/kernel_subject.hpp"

namespace tsim::cost {
namespace {

using models::DType;
using models::OpClass;
using models::OpKind;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Formats in which a product can be computed instead, nearest first.
std::array<DType, 4> fallbacks(DType d) {
  switch (d) {
    case DType::bf16: return {DType::bf16, DType::fp16, DType::int16, DType::fp32};
    case DType::fp16: return {DType::fp16, DType::bf16, DType::int16, DType::fp32};
    case DType::fp8: return {DType::fp8, DType::bf16, DType::fp16, DType::fp32};
    case DType::int8: return {DType::int8, DType::int16, DType::fp16, DType::fp32};
    case DType::int16: return {DType::int16, DType::fp16, DType::fp32, DType::fp32};
    case DType::tf32: return {DType::tf32, DType::fp32, DType::fp32, DType::fp32};
    default: return {DType::fp32, DType::fp32, DType::fp32, DType::fp32};
  }
}

/// Matrix units load whole 16 bytes of an operand's row [NVIDIA, Matrix multiplication background
/// guide, table 2]. Attention of 16-bit heads whose width, the shortest side, is no multiple of 8
/// ran on the vector units: BLOOM's candidates with heads of 108 took 40 s longer than those with
/// 144, which is 12 TFLOP/s in attention [BigScience, tr11-176B-ml/chronicles-prequel.md].
bool misaligned(const models::Kernel& k) {
  constexpr std::int64_t kElements = 8;
  const bool narrow = k.dtype == DType::fp16 || k.dtype == DType::bf16;
  return narrow && k.kind == OpKind::attention_matmul && std::min({k.m, k.n, k.k}) % kElements != 0;
}

FlopsPerSecond arithmetic_rate(const models::Kernel& k, const Device& device) {
  if (k.cls != OpClass::contraction) { return device.vector_peak; }
  const FlopsPerSecond rate = misaligned(k) ? device.vector_peak : matrix_rate(device, k.dtype);
  if (k.kind == OpKind::flash_attention) { return rate * device.attention_ceiling; }
  return rate * gemm_efficiency(device.gemm, k.batch, k.m, k.n, k.k);
}

BytesPerSecond memory_rate(const models::Kernel& k, const Device& device) {
  if (k.kind == OpKind::optimizer && device.optimizer_bandwidth > 0) {
    return device.memory_bandwidth * device.optimizer_bandwidth;
  }
  switch (k.cls) {
    case OpClass::contraction: return device.memory_bandwidth * device.gemm_bandwidth;
    case OpClass::normalization: return device.memory_bandwidth * device.normalization_bandwidth;
    case OpClass::elementwise: return device.memory_bandwidth * device.elementwise_bandwidth;
  }
  return device.memory_bandwidth;
}

struct Tile {
  std::int64_t m = 1, n = 1;
};

/// Tiles that libraries have kernels for, beside a device's largest: 64 to 256 rows, 32 to 256
/// columns.
constexpr auto kSmallerTiles = [] {
  std::array<Tile, 32> tiles{};
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    tiles[i] = {.m = 64 * (1 + at / 8), .n = 32 * (1 + at % 8)};
  }
  return tiles;
}();

double intensity(const Tile& tile) {
  return static_cast<double>(tile.m * tile.n) / static_cast<double>(tile.m + tile.n);
}

/// Rate of a tile over that of the largest; never above 1.
double relative_rate(const GemmEfficiency& e, const Tile& tile) {
  const auto reached = [&](const Tile& t) {
    return intensity(t) / (intensity(t) + e.half_intensity);
  };
  return std::min(1.0, reached(tile) / reached({e.tile_m, e.tile_n}));
}

struct Outputs {
  std::int64_t batch = 1, m = 1, n = 1;
};

/// Share of the units' time in which they compute elements of the output.
double filled_share(const Tile& tile, std::int64_t units, const Outputs& out) {
  const std::int64_t rows = ceil_div(out.m, tile.m);
  const std::int64_t columns = ceil_div(out.n, tile.n);
  const std::int64_t tiles = out.batch * rows * columns;
  const std::int64_t waves = ceil_div(tiles, units);
  return static_cast<double>(out.m) * static_cast<double>(out.n) /
         (static_cast<double>(rows * tile.m) * static_cast<double>(columns * tile.n)) *
         static_cast<double>(tiles) / static_cast<double>(waves * units);
}

/// Format whose measured points stand for `d`'s: both 16-bit floats run at the same rate.
DType sibling(DType d) {
  switch (d) {
    case DType::fp16: return DType::bf16;
    case DType::bf16: return DType::fp16;
    default: return d;
  }
}

/// Series whose points stand for those of `key`, nearest first: a product that adds to a sum is
/// like one that writes its result.
std::array<SeriesKey, 4> like(const SeriesKey& key) {
  constexpr auto kSum = static_cast<std::uint8_t>(models::Operands::tn_sum);
  SeriesKey plain = key;
  const bool product = key.kind == PointKind::gemm || key.kind == PointKind::grouped;
  if (product && key.variant == kSum) {
    plain.variant = static_cast<std::uint8_t>(models::Operands::tn);
  }
  std::array<SeriesKey, 4> keys{key, plain, key, plain};
  keys[2].dtype = keys[3].dtype = sibling(key.dtype);
  return keys;
}

/// What adding to a sum moves beyond writing the result; it is hidden in part at best.
Bytes bytes_of_sum(const models::Kernel& k) {
  if (k.operands != models::Operands::tn_sum) { return {}; }
  return Bytes{k.batch * k.m * k.n * (models::kSumBytes - size_of(k.dtype))};
}

Seconds sum_time(const models::Kernel& k, const Device& device) {
  return bytes_of_sum(k) / (device.memory_bandwidth * device.sum_bandwidth);
}

Seconds roofline_time(const models::Kernel& kernel, const Device& device) {
  const Seconds arithmetic =
      kernel.flops.value > 0 ? kernel.flops / arithmetic_rate(kernel, device) : Seconds{};
  const Seconds memory = (kernel.bytes - bytes_of_sum(kernel)) / memory_rate(kernel, device);
  return std::max(arithmetic, memory) + sum_time(kernel, device) + device.launch;
}

/// What a contraction takes at least when the device has run at its power limit for a while. Short
/// benchmarks run at higher clocks.
Seconds sustained_time(const models::Kernel& k, const Device& device) {
  if (k.cls != OpClass::contraction || device.sustained >= 1 || k.flops.value <= 0) { return {}; }
  return k.flops / (matrix_rate(device, k.dtype) * device.sustained) + sum_time(k, device);
}

std::optional<FoundRatio> found_for(const Subject& subject, const Measured& measured) {
  for (const SeriesKey& key : like(subject.series)) {
    const Series* const series = measured.find(key);
    if (series == nullptr) { continue; }
    std::optional<FoundRatio> found = find_ratio(*series, subject.shape);
    if (found && key != subject.series) {
      found->origin = std::max(found->origin, Origin::interpolated);
    }
    return found;
  }
  return std::nullopt;
}

/// Whether the kernel moves what the timed one does, to a fifth.
bool moves_the_same(const models::Kernel& kernel, const Subject& subject) {
  const double ratio = static_cast<double>(kernel.bytes.value) / smooth_bytes(subject);
  return kernel.cls == OpClass::contraction || (ratio > 0.8 && ratio < 1.25);
}

}  // namespace

FlopsPerSecond matrix_rate(const Device& device, DType dtype) {
  for (const DType d : fallbacks(dtype)) {
    if (const auto rate = peak(device, d)) { return *rate; }
  }
  return device.vector_peak;
}

double gemm_efficiency(const GemmEfficiency& e, std::int64_t batch, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  assert(batch >= 1 && m >= 1 && n >= 1 && k >= 1);
  double best = filled_share({e.tile_m, e.tile_n}, e.units, {batch, m, n});
  if (e.half_intensity > 0) {
    for (const Tile& tile : kSmallerTiles) {
      if (tile.m * tile.n > std::int64_t{e.tile_m} * e.tile_n) { continue; }
      best = std::max(best, relative_rate(e, tile) * filled_share(tile, e.units, {batch, m, n}));
    }
  }
  const auto depth = static_cast<double>(k);
  return e.ceiling * best * depth / (depth + e.half_k);
}

KernelTime kernel_lookup(const models::Kernel& kernel, const Device& device) {
  const std::optional<Subject> subject =
      device.measured ? subject_of(kernel) : std::optional<Subject>();
  const std::optional<FoundRatio> found =
      subject ? found_for(*subject, *device.measured) : std::nullopt;
  if (!found) { return {roofline_time(kernel, device), Origin::roofline}; }
  if (moves_the_same(kernel, *subject)) {
    const Seconds measured = found->ratio * *smooth_time(*subject, device);
    return {std::max(measured, sustained_time(kernel, device)), found->origin};
  }
  const Seconds smooth = kernel.bytes / device.memory_bandwidth + device.launch;
  return {found->ratio * smooth, std::max(found->origin, Origin::fitted)};
}

Seconds kernel_time(const models::Kernel& kernel, const Device& device) {
  return kernel_lookup(kernel, device).time;
}

Seconds run_time(std::span<const models::Kernel> kernels, const Device& device) {
  Seconds on_device;
  Seconds on_host;
  for (const models::Kernel& kernel : kernels) {
    on_device += kernel_time(kernel, device);
    on_host += host_time(device, kernel.pass != models::Pass::forward);
  }
  return std::max(on_device, on_host);
}

}  // namespace tsim::cost
