#include "cost/kernel_subject.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/device.hpp"
#include "cost/roofline.hpp"

namespace tsim::cost {
namespace {

using models::Kernel;
using models::Operands;
using models::OpKind;
using models::Pass;

enum Map : std::uint8_t { copy, add, gelu, gelu_bwd, dropout, dropout_bwd, bias_gelu, join };

double as_real(std::int64_t n) { return static_cast<double>(n); }

Subject product(const Kernel& k) {
  // The gradient of a weight [n, k] is dy^T x; a kernel states it as its transpose.
  const bool turned = k.operands == Operands::tn || k.operands == Operands::tn_sum;
  const std::int64_t m = turned ? k.n : k.m;
  const std::int64_t n = turned ? k.m : k.n;
  const auto variant = static_cast<std::uint8_t>(k.operands);
  if (k.kind == OpKind::attention_matmul) {
    return {{PointKind::bmm, k.dtype, variant}, {k.batch, m, n, k.k, 1}};
  }
  if (k.kind == OpKind::grouped_matmul) {
    return {{PointKind::grouped, k.dtype, variant}, {k.batch, m, n, k.k, 1}};
  }
  return {{PointKind::gemm, k.dtype, variant}, {m, n, k.k, 1, 1}};
}

Subject attention(const Kernel& k) {
  const int variant = (k.pass == Pass::forward ? 0 : 2) + (k.causal ? 1 : 0);
  return {{PointKind::attention, k.dtype, static_cast<std::uint8_t>(variant)},
          {k.batch, k.m, k.n, k.k, 1}};
}

Subject by_rows(PointKind kind, const Kernel& k) {
  const std::int64_t columns = std::max<std::int64_t>(1, k.columns);
  return {{kind, k.dtype, static_cast<std::uint8_t>(k.pass == Pass::forward ? 0 : 1)},
          {std::max<std::int64_t>(1, k.elements / columns), columns, 1, 1, 1}};
}

/// Passes over memory, in operands of the kernel's elements.
double passes(const Kernel& k) {
  return as_real(k.bytes.value) / (as_real(k.elements) * size_of(k.dtype));
}

Map map_of(const Kernel& k) {
  const bool forward = k.pass == Pass::forward;
  switch (k.kind) {
    case OpKind::residual_add: return add;
    case OpKind::dropout: return forward ? dropout : dropout_bwd;
    case OpKind::activation: return forward ? gelu : gelu_bwd;
    case OpKind::reshape: return k.pass == Pass::backward ? join : copy;
    case OpKind::bias:  // with the activation behind it, or with dropout and residual
      if (k.ops.size() == 2) { return forward ? gelu : gelu_bwd; }
      break;
    default: break;
  }
  return passes(k) < 2.5 ? copy : add;
}

Subject elementwise(const Kernel& k) {
  // The iteration space of a look-up has the whole table as an axis; it copies what it finds.
  const std::int64_t elements =
      k.kind == OpKind::embedding
          ? std::max<std::int64_t>(1, std::llround(as_real(k.bytes.value) / (2 * size_of(k.dtype))))
          : k.elements;
  return {{PointKind::map, k.dtype, map_of(k)}, {elements, 1, 1, 1, 1}};
}

double map_bytes(const SeriesKey& key) {
  const double size = size_of(key.dtype);
  constexpr std::array<double, 8> kPasses{2, 3, 2, 3, 2, 2, 2, 2};
  const double mask = key.variant == dropout || key.variant == dropout_bwd ? 1 : 0;
  return kPasses.at(key.variant) * size + mask;
}

double product_of(const Counts& shape) {
  double product = 1;
  for (const std::int64_t n : shape) { product *= as_real(n); }
  return product;
}

double attention_bytes(const Subject& s) {
  const auto& [heads, queries, keys, width, unused] = s.shape;
  const double passes = s.series.variant < 2 ? 1 : 2;  // the gradients besides
  return passes * 2 * as_real(heads) * as_real(queries + keys) * as_real(width) *
         size_of(s.series.dtype);
}

double product_bytes(const Subject& s, std::size_t at) {
  const double m = as_real(s.shape[at]);
  const double n = as_real(s.shape[at + 1]);
  const double k = as_real(s.shape[at + 2]);
  return (at == 1 ? as_real(s.shape[0]) : 1.0) * (m * k + k * n + m * n) * size_of(s.series.dtype);
}

/// What a product that adds to a sum moves besides.
double bytes_of_sum(const Subject& s) {
  const bool product = s.series.kind == PointKind::gemm || s.series.kind == PointKind::grouped;
  if (!product || s.series.variant != static_cast<std::uint8_t>(Operands::tn_sum)) { return 0; }
  const std::size_t at = s.series.kind == PointKind::gemm ? 0 : 1;
  return (at == 1 ? as_real(s.shape[0]) : 1.0) * as_real(s.shape[at]) * as_real(s.shape[at + 1]) *
         (models::kSumBytes - size_of(s.series.dtype));
}

}  // namespace

std::optional<Subject> subject_of(const Kernel& k) {
  switch (k.kind) {
    case OpKind::matmul:
    case OpKind::attention_matmul:
    // Without points of groups the roofline's tiles tell them apart better than one product of all
    // their rows would: 6 against 11 % from times on an H200
    // (tests/published/grouped_products_test.cpp).
    case OpKind::grouped_matmul: return k.m > 0 ? std::optional(product(k)) : std::nullopt;
    case OpKind::flash_attention: return attention(k);
    case OpKind::layer_norm:
    case OpKind::rms_norm: return by_rows(PointKind::layernorm, k);
    case OpKind::softmax: return by_rows(PointKind::softmax, k);
    case OpKind::cross_entropy: return by_rows(PointKind::cross_entropy, k);
    case OpKind::optimizer:
      return Subject{{PointKind::adam}, {std::max<std::int64_t>(1, k.elements), 1, 1, 1, 1}};
    default: break;
  }
  if (k.elements < 1) { return std::nullopt; }
  return elementwise(k);
}

double smooth_bytes(const Subject& s) {
  const double size = size_of(s.series.dtype);
  const double passes = s.series.variant == 0 ? 2 : 3;  // forward, backward
  switch (s.series.kind) {
    case PointKind::gemm: return product_bytes(s, 0);
    case PointKind::bmm:
    case PointKind::grouped: return product_bytes(s, 1);
    case PointKind::attention: return attention_bytes(s);
    case PointKind::map: return map_bytes(s.series) * product_of(s.shape);
    case PointKind::layernorm:
    case PointKind::softmax: return passes * size * product_of(s.shape);
    case PointKind::cross_entropy: return 2 * size * product_of(s.shape);
    // fp32 gradient, weight and two moments read, the last three written.
    case PointKind::adam: return 28 * product_of(s.shape);
    case PointKind::memcpy: return product_of(s.shape);
    case PointKind::launch:
    case PointKind::collective:
    case PointKind::overlap:
    case PointKind::pair: break;
  }
  return 0;
}

double smooth_flops(const Subject& s) {
  switch (s.series.kind) {
    case PointKind::gemm:
    case PointKind::bmm:
    case PointKind::grouped: return 2 * product_of(s.shape);
    case PointKind::attention:
      // Two products forward, five backward; a causal mask halves them.
      return (s.series.variant < 2 ? 4 : 10) * product_of(s.shape) *
             (s.series.variant % 2 == 1 ? 0.5 : 1.0);
    default: return 0;
  }
}

std::optional<Seconds> smooth_time(const Subject& s, const Device& device) {
  const bool timed = s.series.kind <= PointKind::adam || s.series.kind == PointKind::grouped;
  if (!timed) { return std::nullopt; }
  const double bytes = smooth_bytes(s);
  const Flops flops{smooth_flops(s)};
  const Seconds arithmetic =
      flops.value > 0 ? flops / matrix_rate(device, s.series.dtype) : Seconds{};
  const Seconds memory{bytes / device.memory_bandwidth.value};
  const Seconds sum{bytes_of_sum(s) / device.memory_bandwidth.value};
  return std::max(arithmetic, memory) + sum + device.launch;
}

}  // namespace tsim::cost
