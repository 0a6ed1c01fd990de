// What happens between queries, keys and values. Private to this room.
#pragma once

#include <string>

#include "models/block_builder.hpp"

namespace tsim::models {

/// Queries, keys and values as the products see them.
struct Heads {
  Operand query, key, value;
};

/// What differs between kinds of attention inside their core.
struct CoreSpec {
  std::string name;  // prefix of the operators
  bool causal = false;
  TensorId position_bias = -1;  // added to the scores, the mask already in it
};

/// From queries, keys and values to the context [batch, sequence, heads, head_dim of the values].
TensorId add_core(BlockBuilder& b, const CoreSpec& spec, const Heads& h);

/// The context's product with the output weight.
TensorId add_projection(BlockBuilder& b, const std::string& name, TensorId context);

}  // namespace tsim::models
