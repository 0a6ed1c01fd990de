// The chain of a model's blocks, one by one, with the plan of each.
#pragma once

#include <vector>

#include "cost/device.hpp"
#include "models/model.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/exchange.hpp"
#include "strategies/fit_layers.hpp"
#include "strategies/recompute.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

constexpr bool is_layer(models::BlockKind kind) {
  return kind == models::BlockKind::layer || kind == models::BlockKind::decoder_layer;
}

/// The chain of single blocks with the plan of each.
struct Chain {
  std::vector<std::vector<BlockPlan>> plans;  // by block of the model, and by Recompute where
                                              // layers differ in it
  std::vector<models::BlockKind> kinds;       // by block of the model
  std::vector<int> units;                     // block of each unit, in order
  std::vector<int> layer_of;     // by unit: its number among the layers, -1 for another block
  std::vector<int> layer_begin;  // unit where layer i's group starts (embeddings before it)
  int encoder_layers = 0;        // or all layers of a model without a decoder of its own

  const BlockPlan& plan_of(int unit, Recompute recompute = Recompute::none) const {
    const auto& of_block = plans[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)])];
    return chosen(of_block, recompute);
  }
};

/// What tells a rank from others of its stage; -1: nothing.
struct RankVariant {
  int rank = -1;
  const ExpertDraws* draws = nullptr;
};

Chain make_chain(const models::Model& model, const Strategy& strategy, const cost::Device& device,
                 const RankVariant& variant = {});

/// What a block's kernels take on the device, forward and backward.
Seconds unit_time(const BlockPlan& plan);

/// Puts what gathers a message before `pieces`, when its parts arrive on each rank of the tensor
/// group.   [arXiv:2104.04473, sec. 4.1]
void gather_first(Phase phase, Bytes size, int tensor, std::vector<Piece>& pieces);

/// What a chunk holds more with a further block, whose activations wait on it or `elsewhere`; the
/// chunk's output is the last block's.
void add_block_memory(const BlockPlan& b, bool elsewhere, ChunkPlan& chunk);

/// Compute time of layer i with the embedding before it, and the head after the last.
std::vector<double> layer_times(const Chain& chain, const Strategy& strategy);

/// What each layer adds, with the embedding before it, and the head after the last.
std::vector<LayerMemory> layer_memory(const Chain& chain);

}  // namespace tsim::strategies
