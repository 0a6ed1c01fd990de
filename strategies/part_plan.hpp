// Consecutive layers of a model by themselves: what a search composes pipelines of.
#pragma once

#include <optional>
#include <vector>

#include "cost/device.hpp"
#include "models/model.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// The blocks of a model whose layers are all alike, each planned once.
struct PartBlocks {
  std::vector<BlockPlan> before;  // the layers: embeddings
  BlockPlan layer;
  std::vector<BlockPlan> after;  // the head
  int layers = 0;                // of the model
};

/// None when layers differ, in kind or in what they recompute.
std::optional<PartBlocks> plan_blocks(const models::Model& model, const Strategy& strategy,
                                      const cost::Device& device);

/// Compute time of each layer, that of the blocks before the first and after the last included: by
/// these layers are dealt to stages.
std::vector<double> layer_times(const PartBlocks& blocks);

/// Some of the layers, with what is before the first or after the last.
struct PartForm {
  int layers = 1;
  bool first = false, last = false;
};

/// What parts of the tensor group add up once an iteration (StagePlan::shared).
std::vector<SharedGradients> shared_of(const PartBlocks& blocks, const PartForm& form);

/// What plan_stages() plans for a part of a pipeline in a loop: one chunk. Its input is not filled.
/// Without activations or states elsewhere.
StagePlan plan_part(const PartBlocks& blocks, const PartForm& form, const Strategy& strategy,
                    const cost::Device& device);

}  // namespace tsim::strategies
