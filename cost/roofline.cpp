#include "cost/roofline.hpp"

#include <algorithm>
#include <array>
#include <cassert>

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

FlopsPerSecond matrix_rate(const Device& device, DType dtype) {
  for (const DType d : fallbacks(dtype)) {
    if (const auto rate = peak(device, d)) { return *rate; }
  }
  return device.vector_peak;
}

FlopsPerSecond arithmetic_rate(const models::Kernel& k, const Device& device) {
  if (k.cls != OpClass::contraction) { return device.vector_peak; }
  const FlopsPerSecond rate = matrix_rate(device, k.dtype);
  if (k.kind == OpKind::flash_attention) { return rate * device.attention_ceiling; }
  return rate * gemm_efficiency(device.gemm, k.batch, k.m, k.n, k.k);
}

BytesPerSecond memory_rate(OpClass cls, const Device& device) {
  switch (cls) {
    case OpClass::contraction: return device.memory_bandwidth * device.gemm_bandwidth;
    case OpClass::normalization: return device.memory_bandwidth * device.normalization_bandwidth;
    case OpClass::elementwise: return device.memory_bandwidth * device.elementwise_bandwidth;
  }
  return device.memory_bandwidth;
}

}  // namespace

double gemm_efficiency(const GemmEfficiency& e, std::int64_t batch, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  assert(batch >= 1 && m >= 1 && n >= 1 && k >= 1);
  const std::int64_t rows = ceil_div(m, e.tile_m);
  const std::int64_t columns = ceil_div(n, e.tile_n);
  const std::int64_t tiles = batch * rows * columns;
  const std::int64_t waves = ceil_div(tiles, e.units);
  const double filled_tiles =
      static_cast<double>(m) * static_cast<double>(n) /
      (static_cast<double>(rows * e.tile_m) * static_cast<double>(columns * e.tile_n));
  const double filled_waves = static_cast<double>(tiles) / static_cast<double>(waves * e.units);
  const auto depth = static_cast<double>(k);
  return e.ceiling * filled_tiles * filled_waves * depth / (depth + e.half_k);
}

Seconds kernel_time(const models::Kernel& kernel, const Device& device) {
  const Seconds arithmetic =
      kernel.flops.value > 0 ? kernel.flops / arithmetic_rate(kernel, device) : Seconds{};
  const Seconds memory = kernel.bytes / memory_rate(kernel.cls, device);
  return std::max(arithmetic, memory) + device.launch;
}

Seconds run_time(std::span<const models::Kernel> kernels, const Device& device) {
  Seconds on_device;
  for (const models::Kernel& kernel : kernels) { on_device += kernel_time(kernel, device); }
  return std::max(on_device, static_cast<double>(kernels.size()) * device.host_launch);
}

}  // namespace tsim::cost
