// Llama and its kin.
#include <algorithm>

#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::sim::hf {

using models::Activation;
using models::ModelConfig;
using models::Positions;

ModelConfig read_llama_like(Reader& in, const Defaults& d) {
  ModelConfig m = read_common(in, d);
  m.family = models::Family::decoder;
  // Llama's own class takes num_attention_heads when the key is missing; the others a number.
  m.kv_heads = read_count(in.take("num_key_value_heads"), limits::kHeads,
                          d.kv_heads > 0 ? d.kv_heads : m.heads);
  m.head_dim = read_count(in.take("head_dim"), limits::kHeadDim, m.head_dim);
  set_head_dim(in, "num_attention_heads", m);
  m.norm = models::Norm::rms_norm;
  m.positions = Positions::rotary;
  m.max_positions = 0;
  m.activation = read_activation(in, "hidden_act", "silu", true);
  m.attention_dropout = read_real(in.take("attention_dropout"), kProbability, 0.0);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), false);
  m.bias = false;
  m.qkv_bias = read_flag(in.take("attention_bias"), false);
  m.causal = true;
  return m;
}

ModelConfig read_llama(Reader& in) {
  ModelConfig m = read_llama_like(in, {32000, 4096, 32, 32, 0, 11008, 2048});
  m.bias = read_flag(in.take("mlp_bias"), false);
  return m;
}

/// The sequence is the attention's window: beyond it, windowed attention would cost less than the
/// full attention that is simulated.
ModelConfig read_mistral(Reader& in) {
  ModelConfig m = read_llama_like(in, {32000, 4096, 32, 32, 8, 14336, std::int64_t{4096} * 32});
  const Place window = in.take("sliding_window");
  if (window.present()) {
    m.sequence = std::min(m.sequence, read_count(window, limits::kSequence));
  }
  return m;
}

ModelConfig read_qwen2(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 4096, 32, 32, 32, 22016, 32768});
  m.qkv_bias = true;
  return m;
}

ModelConfig read_qwen3(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 4096, 32, 32, 32, 22016, 32768});
  m.head_dim = read_count(in.take("head_dim"), limits::kHeadDim, 128);
  set_head_dim(in, "num_attention_heads", m);
  m.qk_norm = true;
  return m;
}

ModelConfig read_phi3(Reader& in) {
  ModelConfig m = read_llama_like(in, {32064, 3072, 32, 32, 0, 8192, 4096});
  m.dropout = read_real(in.take("resid_pdrop"), kProbability, 0.0);
  return m;
}

ModelConfig read_gemma(Reader& in) {
  ModelConfig m = read_llama_like(in, {256000, 3072, 28, 16, 16, 24576, 8192});
  m.head_dim = read_count(in.take("head_dim"), limits::kHeadDim, 256);
  set_head_dim(in, "num_attention_heads", m);
  m.activation = Activation::geglu;  // the class ignores hidden_act in favour of tanh GELU
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  return m;
}

}  // namespace tsim::sim::hf
