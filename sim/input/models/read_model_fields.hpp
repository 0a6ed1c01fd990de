// The keys of an inline model.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Reads the keys of an inline model over `base`. Without a base, what a model cannot do without is
/// required and the rest follows from it; with one, every key is optional, and what followed from
/// a changed key in the base (ffn = 4 hidden, kv_heads = heads, head_dim = hidden / heads) follows
/// it still.
models::ModelConfig read_model_fields(Reader& in, const models::ModelConfig* base);

/// Sequence and position rows of a vision model: a token for each patch, and the class token.
void set_patches(models::ModelConfig& model);

}  // namespace tsim::sim
