// What a block keeps for its backward, and what it needs while it runs.
#pragma once

#include "strategies/block_plan.hpp"

namespace tsim::strategies {

/// Recomputation that applies to a block: layers only; embedding and head keep what they need.
Recompute recompute_of(models::BlockKind kind, const Strategy& strategy);

/// Fills the memory figures of `plan` from the sharded graph.
void add_memory(const models::OpGraph& graph, Recompute recompute, models::Fusion fusion,
                BlockPlan& plan);

}  // namespace tsim::strategies
