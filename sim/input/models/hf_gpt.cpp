// Decoders with layer norms: GPT-2, OPT, BLOOM, GPT-NeoX.
#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::sim::hf {

using models::ModelConfig;
using models::Positions;

ModelConfig read_gpt2(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, 50257);
  m.hidden = read_count(in.take("n_embd"), limits::kHidden, 768);
  m.layers = read_layers(in, "n_layer", 12);
  m.heads = m.kv_heads = read_count(in.take("n_head"), limits::kHeads, 12);
  m.ffn = read_count(in.take("n_inner"), limits::kFfn, 4 * m.hidden);
  m.max_positions = m.sequence = read_count(in.take("n_positions"), limits::kSequence, 1024);
  m.activation = read_activation(in, "activation_function", "gelu_new", false);
  m.dropout = read_real(in.take("resid_pdrop"), kProbability, 0.1);
  m.attention_dropout = read_real(in.take("attn_pdrop"), kProbability, 0.1);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  m.causal = true;
  set_head_dim(in, "n_head", m);
  return m;
}

ModelConfig read_opt(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, 50272);
  m.hidden = read_count(in.take("hidden_size"), limits::kHidden, 768);
  m.layers = read_layers(in, "num_hidden_layers", 12);
  m.heads = m.kv_heads = read_count(in.take("num_attention_heads"), limits::kHeads, 12);
  m.ffn = read_count(in.take("ffn_dim"), limits::kFfn, 3072);
  m.sequence = read_count(in.take("max_position_embeddings"), limits::kSequence, 2048);
  m.max_positions = m.sequence + 2;  // OPTLearnedPositionalEmbedding.offset
  m.activation = read_activation(in, "activation_function", "relu", false);
  m.dropout = read_real(in.take("dropout"), kProbability, 0.1);
  m.attention_dropout = read_real(in.take("attention_dropout"), kProbability, 0.0);
  m.bias = m.qkv_bias = read_flag(in.take("enable_bias"), true);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  m.causal = true;
  const bool pre = read_flag(in.take("do_layer_norm_before"), true);
  m.norm_place = pre ? models::NormPlace::pre : models::NormPlace::post;
  m.final_norm = pre;
  const Place width = in.take("word_embed_proj_dim");
  if (width.present() && read_count(width, limits::kHidden) != m.hidden) {
    width.fail(width.found(), "hidden_size = " + std::to_string(m.hidden),
               "embeddings of another width are not available yet");
  }
  set_head_dim(in, "num_attention_heads", m);
  return m;
}

/// ALiBi adds constants to the scores: no position is stored.
ModelConfig read_bloom(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, 250880);
  const Place hidden = in.take("hidden_size");
  m.hidden = read_count(hidden.present() ? hidden : in.take("n_embed"), limits::kHidden, 64);
  m.layers = read_layers(in, "n_layer", 2);
  m.heads = m.kv_heads = read_count(in.take("n_head"), limits::kHeads, 8);
  m.ffn = 4 * m.hidden;
  m.sequence = read_count(in.take("seq_length"), limits::kSequence, 2048);
  m.positions = Positions::none;
  m.embedding_norm = true;
  m.dropout = read_real(in.take("hidden_dropout"), kProbability, 0.0);
  m.attention_dropout = read_real(in.take("attention_dropout"), kProbability, 0.0);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  m.causal = true;
  set_head_dim(in, "n_head", m);
  return m;
}

ModelConfig read_gpt_neox(Reader& in) {
  ModelConfig m = read_common(in, {50432, 6144, 44, 64, 64, 24576, 2048});
  m.family = models::Family::decoder;
  m.positions = Positions::rotary;
  m.max_positions = 0;
  m.activation = read_activation(in, "hidden_act", "gelu", false);
  m.parallel_residual = read_flag(in.take("use_parallel_residual"), true);
  m.qkv_bias = read_flag(in.take("attention_bias"), true);
  m.dropout = read_real(in.take("hidden_dropout"), kProbability, 0.0);
  m.attention_dropout = read_real(in.take("attention_dropout"), kProbability, 0.0);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), false);
  m.causal = true;
  return m;
}

}  // namespace tsim::sim::hf
