// Decoders with experts: Mixtral, Qwen-MoE, DBRX, DeepSeek.
#include <algorithm>
#include <array>

#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::sim::hf {

using models::ModelConfig;
using models::MoeConfig;
using models::Positions;

namespace {

constexpr Range kExperts{.least = 1, .most = 65'536};
constexpr Range kFew{.least = 0, .most = 65'536};

/// The count at the first of `keys` that is there: files are written with several names for it.
std::int64_t read_first(Reader& in, std::initializer_list<std::string_view> keys, Range range,
                        std::int64_t fallback) {
  std::int64_t count = fallback;
  bool found = false;
  for (const std::string_view key : keys) {
    const Place place = in.take(key);
    if (!place.present() || found) { continue; }
    count = read_count(place, range, fallback);
    found = true;
  }
  return count;
}

/// Where Qwen's experts are: every decoder_sparse_step-th layer, from the step's last on, but not
/// in mlp_only_layers.
void read_sparse_layers(Reader& in, ModelConfig& m) {
  m.moe.every = read_layers(in, "decoder_sparse_step", 1);
  m.moe.offset = m.moe.every - 1;
  std::vector<std::int64_t> dense;
  for (const Place& entry : read_entries(in.take("mlp_only_layers"))) {
    dense.push_back(read_count(entry, {.least = 0, .most = limits::kLayers.most}));
  }
  if (dense.empty()) { return; }
  for (int i = m.moe.offset; i < m.layers; i += m.moe.every) {
    if (std::find(dense.begin(), dense.end(), i) == dense.end()) { m.moe.layers.push_back(i); }
  }
}

}  // namespace

ModelConfig read_mixtral(Reader& in) {
  ModelConfig m = read_llama_like(in, {32000, 4096, 32, 32, 8, 14336, std::int64_t{4096} * 32});
  const Place window = in.take("sliding_window");
  if (window.present()) {
    m.sequence = std::min(m.sequence, read_count(window, limits::kSequence));
  }
  m.moe.experts = read_first(in, {"num_local_experts", "num_experts"}, kExperts, 8);
  m.moe.top_k = read_count(in.take("num_experts_per_tok"), kExperts, 2);
  m.moe.ffn = m.ffn;
  m.moe.every =
      static_cast<int>(read_first(in, {"moe_frequency", "moe_layer_freq"}, limits::kLayers, 1));
  return m;
}

ModelConfig read_qwen2_moe(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 2048, 24, 16, 16, 5632, 32768});
  m.qkv_bias = true;
  m.moe.experts = read_first(in, {"num_experts", "num_local_experts"}, kExperts, 60);
  m.moe.top_k = read_count(in.take("num_experts_per_tok"), kExperts, 4);
  m.moe.ffn = read_count(in.take("moe_intermediate_size"), limits::kFfn, 1408);
  m.moe.shared_experts = 1;
  m.moe.shared_ffn = read_count(in.take("shared_expert_intermediate_size"), limits::kFfn, 5632);
  m.moe.shared_gate = true;
  m.moe.normalise_top_k = read_flag(in.take("norm_topk_prob"), false);
  read_sparse_layers(in, m);
  return m;
}

ModelConfig read_qwen3_moe(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 2048, 24, 32, 4, 6144, 32768});
  m.qk_norm = true;
  m.moe.experts = read_first(in, {"num_experts", "num_local_experts"}, kExperts, 128);
  m.moe.top_k = read_count(in.take("num_experts_per_tok"), kExperts, 8);
  m.moe.ffn = read_count(in.take("moe_intermediate_size"), limits::kFfn, 768);
  m.moe.normalise_top_k = read_flag(in.take("norm_topk_prob"), false);
  read_sparse_layers(in, m);
  return m;
}

/// Its layer norms have no shift, as RMS norms.
ModelConfig read_dbrx(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, 32000);
  m.hidden = read_count(in.take("d_model"), limits::kHidden, 2048);
  m.layers = read_layers(in, "n_layers", 24);
  m.heads = read_count(in.take("n_heads"), limits::kHeads, 16);
  m.sequence = read_count(in.take("max_seq_len"), limits::kSequence, 2048);
  const Place attention_config = in.take("attn_config");
  m.kv_heads = 1;
  if (attention_config.present()) {
    Reader attention(attention_config);
    m.kv_heads = read_count(attention.take("kv_n_heads"), limits::kHeads, 1);
    m.attention_dropout = read_real(attention.take("attn_pdrop"), kProbability, 0.0);
  }
  m.norm = models::Norm::rms_norm;
  m.positions = Positions::rotary;
  m.activation = models::Activation::swiglu;
  m.bias = m.qkv_bias = false;
  m.causal = true;
  m.ffn = 3584;
  m.moe = {.experts = 4, .top_k = 1};
  const Place ffn_config = in.take("ffn_config");
  if (ffn_config.present()) {
    Reader ffn(ffn_config);
    m.ffn = read_count(ffn.take("ffn_hidden_size"), limits::kFfn, m.ffn);
    m.moe.experts = read_count(ffn.take("moe_num_experts"), kExperts, 4);
    m.moe.top_k = read_count(ffn.take("moe_top_k"), kExperts, 1);
  }
  m.moe.ffn = m.ffn;
  m.dropout = read_real(in.take("resid_pdrop"), kProbability, 0.0);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), false);
  set_head_dim(in, "n_heads", m);
  return m;
}

namespace {

/// What both share. A file's null for q_lora_rank means queries without a low rank, so that is what
/// a missing key gives. The module that predicts a second token (num_nextn_predict_layers) is not
/// in the library's model: mtp_layers adds it.
ModelConfig read_deepseek(Reader& in, const Defaults& d, const MoeConfig& experts) {
  ModelConfig m = read_llama_like(in, d);
  m.kv_heads = m.heads;
  m.latent.q_lora_rank = read_count(in.take("q_lora_rank"), {0, limits::kHidden.most}, 0);
  m.latent.kv_lora_rank = read_count(in.take("kv_lora_rank"), limits::kHidden, 512);
  m.latent.qk_nope_head_dim = read_count(in.take("qk_nope_head_dim"), limits::kHeadDim, 128);
  m.latent.qk_rope_head_dim = read_count(in.take("qk_rope_head_dim"), limits::kHeadDim, 64);
  m.latent.v_head_dim = read_count(in.take("v_head_dim"), limits::kHeadDim, 128);
  m.head_dim = m.latent.qk_nope_head_dim + m.latent.qk_rope_head_dim;
  set_head_dim(in, "num_attention_heads", m);
  MoeConfig& moe = m.moe;
  moe = experts;
  moe.experts = read_first(in, {"n_routed_experts", "num_routed_experts", "num_local_experts"},
                           kExperts, experts.experts);
  moe.top_k = read_count(in.take("num_experts_per_tok"), kExperts, experts.top_k);
  moe.ffn = read_count(in.take("moe_intermediate_size"), limits::kFfn, experts.ffn);
  moe.shared_experts =
      read_first(in, {"n_shared_experts", "num_shared_experts"}, kFew, experts.shared_experts);
  moe.shared_ffn = moe.shared_experts * moe.ffn;
  moe.first_dense =
      static_cast<int>(read_count(in.take("first_k_dense_replace"), kFew, experts.first_dense));
  moe.every = read_layers(in, "moe_layer_freq", 1);
  moe.normalise_top_k = read_flag(in.take("norm_topk_prob"), experts.normalise_top_k);
  return m;
}

}  // namespace

ModelConfig read_deepseek_v2(Reader& in) {
  return read_deepseek(
      in, {32000, 4096, 32, 32, 0, 11008, 2048},
      {.experts = 64, .top_k = 6, .ffn = 1407, .shared_experts = 2, .normalise_top_k = false});
}

ModelConfig read_deepseek_v3(Reader& in) {
  return read_deepseek(in, {129280, 7168, 61, 128, 0, 18432, 4096},
                       {.experts = 256,
                        .top_k = 8,
                        .ffn = 2048,
                        .shared_experts = 1,
                        .first_dense = 3,
                        .router_bias = true,
                        .scoring = models::RouterScoring::sigmoid});
}

}  // namespace tsim::sim::hf
