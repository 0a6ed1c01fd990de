// Layers dealt to the stages, and what each stage runs and holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/device.hpp"
#include "models/model.hpp"
#include "strategies/memory.hpp"
#include "strategies/program.hpp"
#include "strategies/strategy.hpp"
#include "strategies/tensor/sharded_block.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {

/// One chunk of a stage: consecutive blocks, with the phases of one micro-batch through them.
struct ChunkPlan {
  int first_layer = 0;  // of all layers, encoder and decoder counted on
  int layers = 0;
  int fully = 0, selectively = 0;  // of these, recomputed
  bool embedding = false, head = false;
  Program forward;
  Program backward;
  Program last_backward;  // of the last micro-batch: cut where gradient buckets are complete
  Program input_grad, weight_grad;  // the backward in two parts
  Program last_weight_grad;         // cut like last_backward
  /// Of the first micro-batch, whose gradients are added to nothing, and of the only one; empty:
  /// like the others.
  Program first_backward, only_backward;
  Program first_weight_grad, only_weight_grad;
  Program first_forward;  // of the first micro-batch: gathers weights; empty: like the others
  Bytes gradients;        // that the first backward allocates and the optimizer frees
  Bytes input, output;    // activations from the chunk before and to the one after
  Bytes activations;      // kept from forward to backward, one micro-batch
  Bytes logits;           // the same, of the loss
  Bytes elsewhere;        // of one micro-batch, kept on the host or on another stage's device
  Bytes weight_activations, weight_logits;  // kept from input_grad to weight_grad
  Bytes forward_workspace, backward_workspace;
};

struct StagePlan {
  std::vector<ChunkPlan> chunks;
  std::int64_t elements = 0;            // trained elements on one rank
  std::int64_t embedding_elements = 0;  // of these, the word embedding
  std::int64_t whole = 0;               // of these, kept on every rank although others are sharded
  bool shares_embedding = false;        // holds a copy that another stage holds too
  Seconds optimizer;                    // one step on one rank
  std::vector<SharedGradients> shared;  // added up over parts of the tensor group before that
  WeightShapes shapes;                  // of the trained elements but `experts`
  ExpertWeights experts;                // of the trained elements, spread otherwise
  FrozenWeights frozen;                 // what is not trained
};

/// What a rank of the stage keeps of its weights' states, wherever it is.
StateBytes states_of(const StagePlan& stage, const Strategy& strategy);
/// Elements, trained or not, that every rank keeps although others are sharded.
std::int64_t whole_elements(const StagePlan& stage);

/// Layers of each of the consecutive parts of the model: without chunks, of each stage.
/// even: the same number each (the layers divide); balanced: the largest compute time of a part is
/// least; list: as given.
std::vector<int> deal_layers(const models::Model& model, const Strategy& strategy,
                             const cost::Device& device);

/// Plans all stages. The embedding goes with the first layer, the head with the last one.
std::vector<StagePlan> plan_stages(const models::Model& model, const Strategy& strategy,
                                   const cost::Device& device);

/// By kind of device: the stages' plans on it. Their layers, steps and memory are the same, times
/// are not. Where ranks of a stage differ (rank_variants), each kind is listed once for each of
/// them, and `present` lists those. `present`: by stage, the kinds that its ranks sit on, of which
/// the slowest sets the stage's pace when layers are balanced, and the one with least memory what
/// they have to fit in. `micro_batches`: of one pipeline, for how many are in flight.
std::vector<std::vector<StagePlan>> plan_stages(const models::Model& model,
                                                const Strategy& strategy,
                                                const std::vector<cost::Device>& kinds,
                                                const std::vector<std::vector<int>>& present,
                                                int micro_batches = 1);

/// By stage, the plan on the slowest of the kinds that are present: it sets the pace.
std::vector<StagePlan> slowest_plans(const std::vector<std::vector<StagePlan>>& by_kind,
                                     const std::vector<std::vector<int>>& present);

}  // namespace tsim::strategies
