// The encoder-decoder T5 and its kin with experts.
#include <algorithm>

#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/read_model.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim::hf {

using models::Activation;
using models::ModelConfig;
using models::Positions;

namespace {

/// "relu", "gated-gelu", "gated-silu": a gate or none, and the non-linearity.
Activation t5_activation(Reader& in) {
  const Place place = in.take("feed_forward_proj");
  const std::string written = read_text(place, "relu");
  if (written == "relu") { return Activation::relu; }
  if (written == "gelu") { return Activation::gelu; }
  if (written == "gated-gelu") { return Activation::geglu; }
  if (written == "gated-silu") { return Activation::swiglu; }
  place.fail(in_quotes(written), "one of relu, gelu, gated-gelu, gated-silu");
  return Activation::relu;
}

}  // namespace

ModelConfig read_t5(Reader& in) {
  ModelConfig m;
  m.family = models::Family::encoder_decoder;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, 32128);
  m.hidden = read_count(in.take("d_model"), limits::kHidden, 512);
  m.head_dim = read_count(in.take("d_kv"), limits::kHeadDim, 64);
  m.ffn = read_count(in.take("d_ff"), limits::kFfn, 2048);
  m.layers = read_layers(in, "num_layers", 6);
  m.decoder_layers = read_layers(in, "num_decoder_layers", m.layers);
  m.heads = m.kv_heads = read_count(in.take("num_heads"), limits::kHeads, 8);
  m.relative_buckets = read_count(in.take("relative_attention_num_buckets"), {1, 1'000'000}, 32);
  m.sequence = read_count(in.take("n_positions"), limits::kSequence, 512);
  m.positions = Positions::relative;
  m.norm = models::Norm::rms_norm;
  m.activation = t5_activation(in);
  m.dropout = m.attention_dropout = read_real(in.take("dropout_rate"), kProbability, 0.1);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  m.bias = m.qkv_bias = false;
  m.causal = true;
  set_head_dim(in, "num_heads", m);
  return m;
}

/// T5 with experts in the layers 1, 1 + n, .. of both stacks [arXiv:2101.03961].
ModelConfig read_switch(Reader& in) {
  ModelConfig m = read_t5(in);
  m.head_dim = read_count(in.take("d_kv"), limits::kHeadDim, 64);
  const std::int64_t sparse = read_count(in.take("num_sparse_encoder_layers"), limits::kLayers, 3);
  const auto every = static_cast<int>(std::max<std::int64_t>(1, m.layers / sparse));
  m.moe = {.experts = read_count(in.take("num_experts"), {1, 65'536}, 8),
           .top_k = 1,
           .ffn = m.ffn,
           .every = every,
           .offset = every > 1 ? 1 : 0};
  const Place decoder = in.take("num_sparse_decoder_layers");
  const std::int64_t of_decoder = read_count(decoder, limits::kLayers, sparse);
  if (m.decoder_layers / of_decoder != every) {
    decoder.fail(decoder.found(), "as many as num_sparse_encoder_layers, layer for layer");
  }
  return m;
}

}  // namespace tsim::sim::hf
