// What readers of Hugging Face configurations share.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim::hf {

inline constexpr RealRange kProbability{.least = 0.0, .most = 1.0};

/// Keys that most of the library's models share, with the defaults that differ by model.
struct Defaults {
  std::int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions;
};
models::ModelConfig read_common(Reader& in, const Defaults& d);

/// What Llama and its kin share: rotary positions, RMS norms, a gated MLP, grouped queries.
models::ModelConfig read_llama_like(Reader& in, const Defaults& d);

/// The layer's non-linearity; every smooth one costs as much as GELU.
models::Activation read_activation(Reader& in, std::string_view key, std::string_view fallback,
                                   bool gated);

int read_layers(Reader& in, std::string_view key, std::int64_t fallback);

/// Whether an architecture's name has `part` in it: `BertForSequenceClassification`.
bool architecture_has(Reader& in, std::string_view part);

/// Classes of a classification head: labels, their number, or the library's default of 2.
std::int64_t read_labels(Reader& in);

/// hidden / heads where no head size was stated; a size or width that cannot be is a problem.
void set_head_dim(Reader& in, std::string_view heads_key, models::ModelConfig& m);

}  // namespace tsim::sim::hf
