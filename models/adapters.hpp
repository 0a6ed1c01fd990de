// Low-rank adapters of a block's products, and the weights that they leave as they are. Private to
// this room.
#pragma once

#include "models/block_builder.hpp"

namespace tsim::models {

/// Whether the product is one of those that can have an adapter: of attention or of a dense MLP,
/// for every token. Grouped products of experts can not.
bool is_adaptable(const Linear& linear);

/// Whether the model has an adapter at this product.
bool has_adapter(const ModelConfig& config, const Linear& linear);

/// `y`, the product's result, plus its adapter's. Every one of the four operators is a kernel of
/// its own unless fusion joins them, as in NeMo's LoRALinear and ParallelLinearAdapter (linear_in,
/// linear_out, the product with alpha / rank, the sum; nemo/collections/llm/peft). Dropout comes
/// first. Adapters stay in the 16-bit format under fp8.   [arXiv:2106.09685, sec. 4.1]
TensorId add_adapter(BlockBuilder& b, const Linear& linear, TensorId y);

/// `graph`, in topological order, with every weight but the adapters' frozen. Products do not keep
/// their inputs for such weights' gradients, and what comes before the first trained weight and
/// depends on no input of the block has no gradient at all.
OpGraph freeze(OpGraph graph);

}  // namespace tsim::models
