// Bytes of model states, and closed forms for activations.
#pragma once

#include <cstdint>

#include "strategies/strategy.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {

/// Bytes per trained element before any sharding, by class, where shapes do not matter.
struct StateSizes {
  int parameter = 0;
  int gradient = 0;
  int optimizer = 0;  // master copy and moments
};

/// Adam with 16-bit weights: 2 + 2 + (4 + 4 + 4) = 16; fp32 gradients make 18; all-fp32 without a
/// separate master 4 + 4 + 8.   [arXiv:1910.02054, sec. 3.1]
StateSizes state_sizes(const Precision& precision, Optimizer optimizer);

struct StateBytes {
  Bytes parameters, gradients, optimizer;
  Bytes frozen;  // of the parameters, those that no step changes
};
/// Parameters where `versions` of those that are trained are kept.
Bytes parameters_in(const StateBytes& states, int versions);

/// Ranks that share one copy of the optimizer's states: 1 at ZeRO stage 0, the shard group or all
/// replicas (of both halves of a bidirectional pipeline) otherwise.
int state_shards(const Strategy& strategy);

/// The same of experts' states: the ranks that hold copies of them.
int expert_state_shards(const Strategy& strategy);

/// States of `elements` on one rank, between two phases of an iteration. ZeRO divides the
/// optimizer's part by the shards, rounding up, from stage 2 on the gradients (unless they wait for
/// the last micro-batch) and at stage 3 the parameters, `whole` of which are kept on every rank.
///   [arXiv:1910.02054, sec. 5]
/// `experts`, of these elements, are sharded over the ranks that hold copies of them; `shapes` are
/// the others'.
StateBytes state_bytes(std::int64_t elements, const Strategy& strategy, std::int64_t whole = 0,
                       const WeightShapes& shapes = {}, const ExpertWeights& experts = {});

/// The same beside weights that are parameters alone, sharded like the others.
StateBytes with_frozen(StateBytes states, const FrozenWeights& frozen, const Strategy& strategy);

/// Layer activations in bytes of one pipeline's first stage by the published closed form, 16 bit,
/// dropout on, scores kept unless recomputed: s b h L (10 + 24/t + 5as/(ht)), over t all of it with
/// sequence parallelism; x (1 + (p-1)/(pv)) when interleaved.   [arXiv:2205.05198, eq. 1-6]
struct ActivationShape {
  double sequence = 0, micro_batch = 0, hidden = 0, heads = 0, layers = 0;
  int tensor = 1, pipeline = 1, chunks = 1;
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
};
double closed_form_activations(const ActivationShape& a);

}  // namespace tsim::strategies
