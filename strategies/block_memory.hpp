// What a block keeps for its backward, and what it needs while it runs.
#pragma once

#include "strategies/block_plan.hpp"
#include "strategies/remade.hpp"

namespace tsim::strategies {

/// Recomputation that applies to a block: layers only; embedding and head keep what they need.
Recompute recompute_of(models::BlockKind kind, const Strategy& strategy);

/// Fills the memory figures of `plan` from the sharded graph and from what of it runs again.
void add_memory(const models::OpGraph& graph, const Remade& remade, models::Fusion fusion,
                BlockPlan& plan);

/// Fills what waits for the weight gradients `kernels` when they are put off: the inputs of their
/// operators and the gradients of their outputs, each once. For a layer of a Transformer with
/// 16-bit activations 32 s b h.   [arXiv:2401.10241, table 1]
void add_weight_memory(const models::OpGraph& graph, const std::vector<models::Kernel>& kernels,
                       BlockPlan& plan);

}  // namespace tsim::strategies
