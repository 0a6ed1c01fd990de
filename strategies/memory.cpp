#include "strategies/memory.hpp"

#include "strategies/optimizers.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {

StateSizes state_sizes(const Precision& precision, Optimizer optimizer) {
  const int master = precision.master_weights ? size_of(precision.master) : 0;
  return {.parameter = size_of(kept_weights(precision)),
          .gradient = gradient_size(precision),
          .optimizer = master + moments_of(optimizer) * size_of(precision.moments)};
}

StateBytes state_bytes(std::int64_t elements, const Strategy& strategy,
                       const WeightShapes& shapes) {
  const Weights all{.elements = elements, .shapes = shapes};
  const std::int64_t shards = strategy.zero >= 1 ? replicas(strategy) : 1;
  return {.parameters = parameter_bytes(all, strategy.precision),
          .gradients = elements * Bytes{gradient_size(strategy.precision)},
          .optimizer = optimizer_bytes(share_of(all, shards), strategy)};
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
