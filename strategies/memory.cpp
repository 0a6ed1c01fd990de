#include "strategies/memory.hpp"

#include "strategies/optimizers.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

std::int64_t part(std::int64_t elements, std::int64_t shards) {
  return (elements + shards - 1) / shards;
}

/// States of weights that so many ranks share, `whole` of which all keep.
StateBytes bytes_of(const Weights& held, std::int64_t whole, const Strategy& strategy) {
  const Precision& precision = strategy.precision;
  const Zero& zero = strategy.zero;
  const std::int64_t elements = held.elements;
  const std::int64_t shards = held.shards;
  Weights all = held;
  all.shards = 1;
  const bool whole_gradients = zero.stage < 2 || !syncs_every(strategy);
  const Bytes weight{size_of(kept_weights(precision))};
  const Bytes copies = parameter_bytes(all, precision) - elements * weight;
  std::int64_t kept = elements;
  if (zero.stage == 3) {
    kept = whole + part(elements - whole, shards);
    if (zero.secondary_group > 0) { kept += part(elements - whole, zero.secondary_group); }
  }
  const std::int64_t summed = whole_gradients ? elements : part(elements, shards);
  return {.parameters = kept * weight + Bytes{part(copies.value, zero.stage == 3 ? shards : 1)},
          .gradients = summed * Bytes{gradient_size(precision)},
          .optimizer = optimizer_bytes(held, strategy),
          .frozen = {}};
}

Bytes frozen_bytes(const FrozenWeights& frozen, const Strategy& strategy) {
  const Weights dense{.elements = frozen.elements - frozen.experts.elements + frozen.embedding,
                      .shapes = frozen.shapes,
                      .shards = state_shards(strategy)};
  const Bytes bytes = bytes_of(dense, frozen.whole, strategy).parameters;
  if (frozen.experts.elements == 0) { return bytes; }
  const Weights experts{.elements = frozen.experts.elements,
                        .shapes = frozen.experts.shapes,
                        .shards = expert_state_shards(strategy)};
  return bytes + bytes_of(experts, 0, strategy).parameters;
}

}  // namespace

Bytes parameters_in(const StateBytes& states, int versions) {
  return versions * (states.parameters - states.frozen) + states.frozen;
}

int expert_state_shards(const Strategy& s) { return s.zero.stage == 0 ? 1 : expert_holders(s); }

int state_shards(const Strategy& s) {
  if (s.zero.stage == 0) { return 1; }
  return s.zero.shard_group > 0 ? s.zero.shard_group : replicas(s);
}

StateSizes state_sizes(const Precision& precision, Optimizer optimizer) {
  const int master = precision.master_weights ? size_of(precision.master) : 0;
  return {.parameter = size_of(kept_weights(precision)),
          .gradient = gradient_size(precision),
          .optimizer = master + moments_of(optimizer) * size_of(precision.moments)};
}

StateBytes state_bytes(std::int64_t elements, const Strategy& strategy, std::int64_t whole,
                       const WeightShapes& shapes, const ExpertWeights& experts) {
  const Weights dense{
      .elements = elements - experts.elements, .shapes = shapes, .shards = state_shards(strategy)};
  StateBytes bytes = bytes_of(dense, whole, strategy);
  if (experts.elements == 0) { return bytes; }
  const Weights spread{.elements = experts.elements,
                       .shapes = experts.shapes,
                       .shards = expert_state_shards(strategy)};
  const StateBytes more = bytes_of(spread, 0, strategy);
  bytes.parameters += more.parameters;
  bytes.gradients += more.gradients;
  bytes.optimizer += more.optimizer;
  return bytes;
}

StateBytes with_frozen(StateBytes states, const FrozenWeights& frozen, const Strategy& strategy) {
  if (frozen.elements + frozen.embedding == 0) { return states; }
  const Bytes bytes = frozen_bytes(frozen, strategy);
  states.frozen += bytes;
  states.parameters += bytes;
  return states;
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
