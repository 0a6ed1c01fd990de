#include "models/moe_models.hpp"

#include <algorithm>
#include <utility>

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

constexpr LatentAttention kDeepSeek{.q_lora_rank = 1536,
                                    .kv_lora_rank = 512,
                                    .qk_nope_head_dim = 128,
                                    .qk_rope_head_dim = 64,
                                    .v_head_dim = 128};

ModelConfig deepseek_v2() {
  ModelConfig c = decoder("deepseek-v2", {60, 5120, 128, 128, 192, 12288, 102400, 4096},
                          "DeepSeek-AI 2024, arXiv:2405.04434, sec. 3.1.2; deepseek-ai/DeepSeek-V2 "
                          "config.json");
  c.latent = kDeepSeek;
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
  c.latent = kDeepSeek;
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

/// Every second layer of both stacks; 18 + 18 layers are the paper's 36. The vocabulary is 64k.
ModelConfig gshard() {
  return {
      .name = "gshard-600b",
      .family = Family::encoder_decoder,
      .layers = 18,
      .decoder_layers = 18,
      .hidden = 1024,
      .heads = 16,
      .kv_heads = 16,
      .head_dim = 128,
      .ffn = 8192,
      .vocab = 64000,
      .sequence = 1024,
      .activation = Activation::relu,
      .positions = Positions::sinusoidal,
      .bias = false,
      .qkv_bias = false,
      .causal = true,
      .moe = {.experts = 2048, .top_k = 2, .ffn = 8192, .every = 2, .offset = 1},
      .source = "Lepikhin et al. 2020, arXiv:2006.16668, sec. 4.2 and table 1: MoE(2048E, 36L)"};
}

struct SwitchDims {
  int layers;
  std::int64_t hidden, heads, ffn, experts;
};

/// T5 with top-1 experts in every second layer of both stacks.
ModelConfig switch_transformer(const char* name, const SwitchDims& d) {
  return {.name = name,
          .family = Family::encoder_decoder,
          .layers = d.layers,
          .decoder_layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = 64,
          .ffn = d.ffn,
          .vocab = 32128,
          .sequence = 512,
          .norm = Norm::rms_norm,
          .activation = Activation::geglu,
          .positions = Positions::relative,
          .bias = false,
          .qkv_bias = false,
          .causal = true,
          .tied_embedding = false,
          .relative_buckets = 32,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .moe = {.experts = d.experts, .top_k = 1, .ffn = d.ffn, .every = 2, .offset = 1},
          .source = "Fedus et al. 2021, arXiv:2101.03961, table 9"};
}

/// Table 9 prints 64 experts, which are half of the parameters that it prints; the checkpoint
/// google/switch-xxl-128 has 128.
ModelConfig switch_xxl() {
  ModelConfig c = switch_transformer("switch-xxl", {24, 4096, 64, 10240, 128});
  c.source += "; 128 experts as in google/switch-xxl-128";
  return c;
}

/// Experts in every layer, no gate.
ModelConfig switch_c() {
  ModelConfig c = switch_transformer("switch-c", {15, 2080, 32, 6144, 2048});
  c.activation = Activation::relu;
  c.moe.every = 1;
  c.moe.offset = 0;
  return c;
}

struct VisionDims {
  int layers;
  std::int64_t hidden, heads, patch;
};

/// A vision Transformer with 32 experts, two for each token, in every second layer.
ModelConfig v_moe(const char* name, const VisionDims& d) {
  const std::int64_t side = 224 / d.patch;
  const std::int64_t tokens = side * side + 1;
  return {.name = name,
          .family = Family::vision,
          .layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = d.hidden / d.heads,
          .ffn = 4 * d.hidden,
          .max_positions = tokens,
          .sequence = tokens,
          .tied_embedding = false,
          .head = false,
          .image = 224,
          .patch = d.patch,
          .channels = 3,
          .classes = 1000,
          .moe = {.experts = 32, .top_k = 2, .ffn = 4 * d.hidden, .every = 2, .offset = 1},
          .source = "Riquelme et al. 2021, arXiv:2106.05974, sec. 2 and 3: Every-2; 1000 classes"};
}

/// GPT with top-1 experts in every second layer, as DeepSpeed-MoE's tables name it: the size of its
/// dense base.
ModelConfig deepspeed(const char* name, int layers, std::int64_t hidden, MoeConfig moe) {
  moe.top_k = 1;
  moe.ffn = 4 * hidden;
  moe.every = 2;
  moe.offset = 1;
  return {.name = name,
          .family = Family::decoder,
          .layers = layers,
          .hidden = hidden,
          .heads = 16,
          .kv_heads = 16,
          .head_dim = hidden / 16,
          .ffn = 4 * hidden,
          .vocab = 50257,
          .max_positions = 2048,
          .sequence = 2048,
          .causal = true,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .moe = std::move(moe),
          .source = "Rajbhandari et al. 2022, arXiv:2201.05596, tables 1 and 5, sec. 4"};
}

/// The last two of the layers with experts have twice as many, and a dense MLP beside them
/// [arXiv:2201.05596, sec. 4.1]. With 21 layers instead of 24 it is the student of sec. 4.2 (MoS).
ModelConfig pr_moe(const char* name, int layers, std::int64_t hidden, std::int64_t experts) {
  std::vector<std::int64_t> pyramid(static_cast<std::size_t>(layers / 2), experts);
  std::fill(pyramid.end() - 2, pyramid.end(), 2 * experts);
  return deepspeed(name, layers, hidden,
                   {.experts = experts, .experts_by_layer = std::move(pyramid), .residual = true});
}

}  // namespace

std::vector<ModelConfig> moe_models() {
  return {
      gshard(),
      switch_transformer("switch-base", {12, 768, 12, 2048, 128}),
      switch_transformer("switch-large", {24, 1024, 16, 2816, 128}),
      switch_xxl(),
      switch_c(),
      v_moe("v-moe-b16", {12, 768, 12, 16}),
      v_moe("v-moe-l16", {24, 1024, 16, 16}),
      v_moe("v-moe-h14", {32, 1280, 16, 14}),
      deepspeed("deepspeed-moe-350m-128", 24, 1024, {.experts = 128}),
      deepspeed("deepspeed-moe-1.3b-128", 24, 2048, {.experts = 128}),
      pr_moe("pr-moe-350m-32-64", 24, 1024, 32),
      pr_moe("pr-moe-1.3b-64-128", 24, 2048, 64),
      pr_moe("mos-350m-32-64", 21, 1024, 32),
      pr_moe("mos-1.3b-64-128", 21, 2048, 64),
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
