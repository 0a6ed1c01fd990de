#include "models/moe_models.hpp"

namespace tsim::models {
namespace {

struct Dims {
  int layers;
  std::int64_t hidden, heads, kv_heads, head_dim, ffn, vocab, sequence;
};

/// A pre-norm decoder with RMS norms, rotary positions and gated MLPs.
ModelConfig decoder(const char* name, const Dims& d, const char* source) {
  return {.name = name,
          .family = Family::decoder,
          .layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.kv_heads,
          .head_dim = d.head_dim,
          .ffn = d.ffn,
          .vocab = d.vocab,
          .sequence = d.sequence,
          .norm = Norm::rms_norm,
          .activation = Activation::swiglu,
          .positions = Positions::rotary,
          .bias = false,
          .qkv_bias = false,
          .causal = true,
          .tied_embedding = false,
          .source = source};
}

ModelConfig mixtral(const char* name, const Dims& d, const char* source) {
  ModelConfig c = decoder(name, d, source);
  c.moe = {.experts = 8, .top_k = 2, .ffn = d.ffn};
  return c;
}

ModelConfig qwen3_30b_a3b() {
  ModelConfig c = decoder("qwen3-30b-a3b", {48, 2048, 32, 4, 128, 6144, 151936, 4096},
                          "Qwen team 2025, arXiv:2505.09388, table 2; Qwen/Qwen3-30B-A3B "
                          "config.json; sequence of pre-training, sec. 3.2");
  c.qk_norm = true;
  c.moe = {.experts = 128, .top_k = 8, .ffn = 768};
  return c;
}

/// Its layer norms have no shift, as RMS norms.
ModelConfig dbrx() {
  ModelConfig c = decoder("dbrx", {40, 6144, 48, 8, 128, 10752, 100352, 4096},
                          "Databricks 2024, databricks/dbrx-base config.json");
  c.moe = {.experts = 16, .top_k = 4, .ffn = 10752};
  return c;
}

ModelConfig deepseek_v2() {
  ModelConfig c = decoder("deepseek-v2", {60, 5120, 128, 128, 192, 12288, 102400, 4096},
                          "DeepSeek-AI 2024, arXiv:2405.04434, sec. 3.1.2; deepseek-ai/DeepSeek-V2 "
                          "config.json");
  c.latent = {.q_lora_rank = 1536,
              .kv_lora_rank = 512,
              .qk_nope_head_dim = 128,
              .qk_rope_head_dim = 64,
              .v_head_dim = 128};
  c.moe = {.experts = 160,
           .top_k = 6,
           .ffn = 1536,
           .shared_experts = 2,
           .shared_ffn = 3072,
           .first_dense = 1,
           .normalise_top_k = false};
  return c;
}

/// Without the module that predicts a second token: mtp_layers = 1 adds it.
ModelConfig deepseek_v3() {
  ModelConfig c = decoder("deepseek-v3", {61, 7168, 128, 128, 192, 18432, 129280, 4096},
                          "DeepSeek-AI 2024, arXiv:2412.19437, sec. 4.2; deepseek-ai/DeepSeek-V3 "
                          "config.json");
  c.latent = {.q_lora_rank = 1536,
              .kv_lora_rank = 512,
              .qk_nope_head_dim = 128,
              .qk_rope_head_dim = 64,
              .v_head_dim = 128};
  c.moe = {.experts = 256,
           .top_k = 8,
           .ffn = 2048,
           .shared_experts = 1,
           .shared_ffn = 2048,
           .first_dense = 3,
           .router_bias = true,
           .scoring = RouterScoring::sigmoid};
  return c;
}

}  // namespace

std::vector<ModelConfig> moe_models() {
  return {
      mixtral("mixtral-8x7b", {32, 4096, 32, 8, 128, 14336, 32000, 4096},
              "Jiang et al. 2024, arXiv:2401.04088, table 1; mistralai config.json; sequence of "
              "4096"),
      mixtral("mixtral-8x22b", {56, 6144, 48, 8, 128, 16384, 32000, 4096},
              "mistralai/Mixtral-8x22B-v0.1 config.json; sequence of 4096"),
      qwen3_30b_a3b(),
      dbrx(),
      deepseek_v2(),
      deepseek_v3(),
  };
}

}  // namespace tsim::models
