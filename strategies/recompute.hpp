// Which layers compute their activations again, and which choice of them fits in memory.
#pragma once

#include <array>
#include <vector>

#include "cost/device.hpp"
#include "models/model.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/build_tasks.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// A layer, counted through the model and through its chunk, from 0.
struct LayerPlace {
  int in_model = 0, in_chunk = 0;
};

/// What `strategy` says of one layer; without recompute_by_layer, "fit" says none.
Recompute recompute_at(const Strategy& strategy, LayerPlace layer);

/// Whether layers of one kind can differ in it.
bool recompute_differs(const Strategy& strategy);

/// Layers' plans that keep one input together: all but the first drop theirs, and the last one's
/// backward starts with the forwards of all.   [Megatron-LM, --recompute-method uniform]
std::vector<BlockPlan> grouped(const std::vector<const BlockPlan*>& layers);

/// A block of a chunk: its plan, or one for each Recompute; its number among the layers, -1 for
/// another block.
struct UnitPlans {
  const std::vector<BlockPlan>* plans = nullptr;
  int layer = -1;
};
const BlockPlan& chosen(const std::vector<BlockPlan>& plans, Recompute recompute);

/// The plans of a chunk's blocks, each layer as it recomputes; fills the chunk's counts of layers.
std::vector<BlockPlan> plans_of_chunk(const std::vector<UnitPlans>& units, const Strategy& strategy,
                                      ChunkPlan& chunk);

/// Memory for one choice of a layer, and what it costs.
struct LayerChoice {
  Bytes kept;       // from forward to backward, all micro-batches in flight
  Bytes workspace;  // while its backward runs
  Seconds again;    // recomputation in one micro-batch
};
/// By Recompute.
using LayerChoices = std::array<LayerChoice, 3>;

/// The choice for each layer that recomputes least and leaves no more than `room` taken: the sum of
/// what is kept and the largest workspace, which is at least `workspace`. Exact: each workspace is
/// tried as the largest, and of partial sums only those that another one beats in both memory
/// and time are dropped. All layers recompute fully where nothing fits.
std::vector<Recompute> least_recompute(const std::vector<LayerChoices>& layers, Bytes room,
                                       Bytes workspace);

/// Solves "fit": for each stage the choice that fits the device's memory, `allowance` of what it
/// takes left free. The layers are dealt as they are without recomputation. Returns the strategy
/// with recompute_by_layer and the layers of each part filled in.
struct FitInput {
  const models::Model& model;
  const cost::Device& device;
  const BuildInput& build;  // stages planned without recomputation
  double allowance = 0;
};
Strategy fit_recompute(const FitInput& input);

}  // namespace tsim::strategies
