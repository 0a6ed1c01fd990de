// The programs of a chunk: its blocks' pieces, with the gathers and gradients of sharded states.
#pragma once

#include <span>

#include "cost/device.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// A block of a chunk in the model's order.
struct ChunkBlock {
  const BlockPlan* plan = nullptr;
  bool completes_embedding = true;  // its backward is the last to add to the word embedding
  Bytes elsewhere = {};             // of its activations, what waits for the backward elsewhere
};

/// Fills the programs of `plan`.
void add_programs(std::span<const ChunkBlock> blocks, const Strategy& strategy,
                  const cost::Device& device, ChunkPlan& plan);

}  // namespace tsim::strategies
