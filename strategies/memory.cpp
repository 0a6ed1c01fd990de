#include "strategies/memory.hpp"

#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

int moments(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd: return 0;
    case Optimizer::sgd_momentum: return 1;
    case Optimizer::adam:
    case Optimizer::adamw:
    case Optimizer::lamb: return 2;
  }
  return 2;
}

std::int64_t part(std::int64_t elements, std::int64_t shards) {
  return (elements + shards - 1) / shards;
}

}  // namespace

int state_shards(const Strategy& s) {
  if (s.zero.stage == 0) { return 1; }
  return s.zero.shard_group > 0 ? s.zero.shard_group : replicas(s);
}

StateSizes state_sizes(const Precision& precision, Optimizer optimizer) {
  const int master = precision.master_weights ? size_of(models::DType::fp32) : 0;
  return {.parameter = size_of(precision.compute),
          .gradient = size_of(precision.gradient),
          .optimizer = master + moments(optimizer) * size_of(precision.moments)};
}

StateBytes state_bytes(std::int64_t elements, const Strategy& strategy, std::int64_t whole) {
  const StateSizes sizes = state_sizes(strategy.precision, strategy.optimizer);
  const Zero& zero = strategy.zero;
  const std::int64_t shards = zero.stage >= 1 ? state_shards(strategy) : 1;
  const std::int64_t own = part(elements, shards);
  const bool whole_gradients = zero.stage < 2 || !syncs_every(strategy);
  std::int64_t held = elements;
  if (zero.stage == 3) {
    held = whole + part(elements - whole, shards);
    if (zero.secondary_group > 0) { held += part(elements - whole, zero.secondary_group); }
  }
  return {.parameters = held * Bytes{sizes.parameter},
          .gradients = (whole_gradients ? elements : own) * Bytes{sizes.gradient},
          .optimizer = own * Bytes{sizes.optimizer}};
}

int optimizer_traffic(const Strategy& s) {
  const StateSizes sizes = state_sizes(s.precision, s.optimizer);
  const int own_weight = s.precision.master_weights ? 0 : sizes.parameter;  // read, too
  const int passes = 2 + (s.gradient_clipping ? 3 : 0) + (s.loss_scaling ? 2 : 0);
  // Megatron-LM, core/optimizer/optimizer.py: _copy_model_grads_to_main_grads writes 16-bit
  // gradients again in fp32, which the step reads; _copy_main_params_to_model_params reads the
  // master weights that the step has written.
  constexpr int kFull = size_of(models::DType::fp32);
  const bool master = s.precision.master_weights;
  const int widened = master && sizes.gradient < kFull ? 2 * kFull : 0;
  const int narrowed = master ? kFull : 0;
  return passes * sizes.gradient + 2 * sizes.optimizer + sizes.parameter + own_weight + widened +
         narrowed;
}

double closed_form_activations(const ActivationShape& a) {
  const double t = a.tensor;
  const double unit = a.sequence * a.micro_batch * a.hidden * a.layers;
  const double core =
      a.recompute == Recompute::none ? 5 * a.heads * a.sequence / (a.hidden * t) : 0.0;
  double per_unit = a.sequence_parallel ? 34 / t + core : 10 + 24 / t + core;
  if (a.recompute == Recompute::full) { per_unit = a.sequence_parallel ? 2 / t : 2; }
  const double p = a.pipeline;
  const double interleaved = a.chunks > 1 ? 1 + (p - 1) / (p * a.chunks) : 1.0;
  return unit * per_unit * interleaved;
}

}  // namespace tsim::strategies
