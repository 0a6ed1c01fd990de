#include "strategies/optimizers.hpp"

#include <algorithm>
#include <array>

#include "cost/roofline.hpp"

namespace tsim::strategies {
namespace {

constexpr std::int64_t kMomentBlock = 2048;  // moments that share a scale, arXiv:2110.02861
constexpr std::int64_t kAmaxHistory = 1024;  // Transformer Engine, DelayedScaling's default
constexpr int kNewtonSchulz = 5;             // iterations, arXiv:2502.16982, sec. 2.1
constexpr Bytes kScale{4};                   // fp32

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t own(std::int64_t whole, const Weights& weights) {
  return ceil_div(whole, weights.shards);
}

Bytes scale_bytes(const Weights& weights, const Precision& p) {
  std::int64_t scales = 0;
  for (const Matrix& m : weights.shapes.products) {
    if (m.wide) { continue; }
    const std::int64_t blocks =
        p.scale_block == 0 ? 0
                           : ceil_div(m.rows, p.scale_block) * ceil_div(m.columns, p.scale_block);
    scales += m.count * (p.scale_block == 0 ? 3 * (kAmaxHistory + 2) : p.fp8_copies * blocks);
  }
  return scales * kScale;
}

/// Elements of the products' weights that have copies in fp8.
std::int64_t narrow_elements(const WeightShapes& shapes) {
  std::int64_t sum = 0;
  for (const Matrix& m : shapes.products) { sum += m.wide ? 0 : m.count * m.rows * m.columns; }
  return sum;
}

Bytes moment_bytes(const Weights& weights, const Strategy& s) {
  const Bytes moment{size_of(s.precision.moments)};
  const WeightShapes& shapes = weights.shapes;
  const std::int64_t all = own_elements(weights);
  const std::int64_t products = own(elements(shapes.products), weights);
  switch (s.optimizer) {
    case Optimizer::adafactor: {
      const std::int64_t matrices = elements(shapes.products) + elements(shapes.tables);
      const std::int64_t sides =
          rows_and_columns(shapes.products) + rows_and_columns(shapes.tables);
      return own(sides + weights.elements - matrices, weights) * moment;
    }
    case Optimizer::muon: return (2 * all - products) * moment;
    case Optimizer::adam_8bit: return 2 * (Bytes{all} + ceil_div(all, kMomentBlock) * kScale);
    case Optimizer::adam:
    case Optimizer::adamw:
    case Optimizer::lamb:
    case Optimizer::sgd:
    case Optimizer::sgd_momentum: break;
  }
  return moments_of(s.optimizer) * all * moment;
}

/// Reads and writes of every gradient in one step.
int gradient_passes(const Strategy& s) {
  int passes = 2 + (s.gradient_clipping ? 3 : 0) + (s.loss_scaling ? 2 : 0);
  if (s.optimizer == Optimizer::lamb) { passes += 3; }
  if (s.optimizer == Optimizer::adafactor) { passes += 2; }
  return passes;
}

/// Reads of every weight beside those of an element-wise update.
int weight_passes(Optimizer optimizer) {
  if (optimizer == Optimizer::lamb) { return 2; }
  return optimizer == Optimizer::adafactor ? 1 : 0;
}

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
};

/// The three products of one iteration.
std::array<Product, 3> newton_schulz(const Matrix& matrix) {
  const auto [a, b] = std::minmax(matrix.rows, matrix.columns);
  return {Product{a, a, b}, Product{a, a, a}, Product{a, b, a}};
}

Flops flops_of(const Product& p) {
  return Flops{2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
               static_cast<double>(p.k)};
}

Seconds product_time(const Product& p, const cost::Device& device) {
  models::Kernel kernel;
  kernel.name = "newton_schulz";
  kernel.kind = models::OpKind::matmul;
  kernel.cls = models::OpClass::contraction;
  kernel.dtype = models::DType::bf16;
  kernel.flops = flops_of(p);
  kernel.bytes = (p.m * p.k + p.k * p.n + p.m * p.n) * Bytes{size_of(kernel.dtype)};
  kernel.batch = 1;
  kernel.m = p.m;
  kernel.n = p.n;
  kernel.k = p.k;
  return cost::kernel_time(kernel, device);
}

Seconds muon_time(const Weights& weights, const cost::Device& device) {
  Seconds sum;
  for (const Matrix& matrix : weights.shapes.products) {
    for (const Product& p : newton_schulz(matrix)) {
      sum +=
          static_cast<double>(kNewtonSchulz * own(matrix.count, weights)) * product_time(p, device);
    }
  }
  return sum;
}

}  // namespace

Weights share_of(const Weights& weights, std::int64_t shards) {
  Weights share = weights;
  share.shards *= shards;
  return share;
}

std::int64_t own_elements(const Weights& weights) { return own(weights.elements, weights); }

int moments_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd: return 0;
    case Optimizer::sgd_momentum:
    case Optimizer::adafactor: return 1;
    case Optimizer::muon:
    case Optimizer::adam:
    case Optimizer::adamw:
    case Optimizer::adam_8bit:
    case Optimizer::lamb: return 2;
  }
  return 2;
}

int gradient_size(const Precision& precision) {
  return size_of(precision.gradient) +
         (precision.gradient_copy ? size_of(*precision.gradient_copy) : 0);
}

Bytes parameter_bytes(const Weights& weights, const Precision& precision) {
  const Bytes kept = weights.elements * Bytes{size_of(kept_weights(precision))};
  if (precision.compute != models::DType::fp8) { return kept; }
  return kept + precision.fp8_copies * Bytes{narrow_elements(weights.shapes)} +
         scale_bytes(weights, precision);
}

Bytes optimizer_bytes(const Weights& weights, const Strategy& strategy) {
  const Precision& p = strategy.precision;
  const Bytes master = own_elements(weights) * Bytes{p.master_weights ? size_of(p.master) : 0};
  return master + moment_bytes(weights, strategy);
}

Bytes optimizer_traffic(const Weights& weights, const Strategy& s) {
  const Precision& p = s.precision;
  const int kept = size_of(kept_weights(p));
  const int updated = p.master_weights ? size_of(p.master) : kept;
  const int own_weight = p.master_weights ? 0 : kept;  // read, too
  const int per_element = gradient_passes(s) * gradient_size(p) + kept + own_weight +
                          weight_passes(s.optimizer) * updated;
  // Megatron-LM, core/optimizer/optimizer.py: _copy_model_grads_to_main_grads writes 16-bit
  // gradients again in fp32, which the step reads; _copy_main_params_to_model_params reads the
  // master weights that the step has written.
  constexpr int kFull = size_of(models::DType::fp32);
  const int widened = p.master_weights && gradient_size(p) < kFull ? 2 * kFull : 0;
  const int narrowed = p.master_weights ? size_of(p.master) : 0;
  const bool copied = p.compute == models::DType::fp8 && p.fp8_copies > 0;
  const Bytes copies = narrow_elements(weights.shapes) * Bytes{copied ? kept + p.fp8_copies : 0};
  return own_elements(weights) * Bytes{per_element + widened + narrowed} +
         2 * optimizer_bytes(weights, s) + copies;
}

Flops muon_flops(const Weights& weights) {
  Flops sum{};
  for (const Matrix& matrix : weights.shapes.products) {
    for (const Product& p : newton_schulz(matrix)) {
      sum += static_cast<double>(kNewtonSchulz * own(matrix.count, weights)) * flops_of(p);
    }
  }
  return sum;
}

Seconds optimizer_time(const Weights& weights, const Strategy& s, const cost::Device& device) {
  models::Kernel kernel;
  kernel.name = "optimizer";
  kernel.kind = models::OpKind::optimizer;
  kernel.cls = models::OpClass::elementwise;
  kernel.elements = own_elements(weights);
  kernel.bytes = optimizer_traffic(weights, s);
  const Seconds moved = cost::kernel_time(kernel, device);
  return s.optimizer == Optimizer::muon ? moved + muon_time(weights, device) : moved;
}

}  // namespace tsim::strategies
