#include "models/registry.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "models/moe_models.hpp"
#include "models/swin_models.hpp"

namespace tsim::models {
namespace {

/// Depth and widths, in the order in which papers' tables print them.
struct Dims {
  int layers;
  std::int64_t hidden, heads;
};

/// A pre-norm decoder with learned positions and heads of hidden / heads, as GPT-2 is.
ModelConfig gpt(const char* name, Dims d, std::int64_t vocab, std::int64_t sequence,
                const char* source) {
  return {.name = name,
          .family = Family::decoder,
          .layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = d.hidden / d.heads,
          .ffn = 4 * d.hidden,
          .vocab = vocab,
          .max_positions = sequence,
          .sequence = sequence,
          .causal = true,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .source = source};
}

ModelConfig gpt2(const char* name, Dims d) {
  return gpt(name, d, 50257, 1024,
             "Radford et al. 2019, Language Models are Unsupervised "
             "Multitask Learners, table 2; openai-community/gpt2 config.json");
}

ModelConfig gpt3(const char* name, Dims d) {
  // Table 2.1 prints 24 heads of 128 for 1.3B and a width of 5140 for 13B; neither is hidden /
  // heads = d_head. 16 heads and 5120 are what its other columns give.
  return gpt(name, d, 50257, 2048,
             "Brown et al. 2020, arXiv:2005.14165, table 2.1; dropout as in "
             "Megatron-LM");
}

ModelConfig megatron(const char* name, Dims d) {
  return gpt(name, d, 51200, 2048, "Narayanan et al. 2021, arXiv:2104.04473, table 1");
}

/// The counts published for BERT leave out the parameters of its training heads. So does this
/// configuration: its vocabulary projection is the tied one alone, of every token, without BERT's
/// transform and bias (head_transform, head_bias): h^2 + 3h + V parameters, 0.6 % of bert-base.
ModelConfig bert(const char* name, Dims d) {
  return {.name = name,
          .family = Family::encoder,
          .layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = d.hidden / d.heads,
          .ffn = 4 * d.hidden,
          .vocab = 30522,
          .max_positions = 512,
          .sequence = 512,
          .norm_place = NormPlace::post,
          .final_norm = false,
          .pooler = true,
          .embedding_norm = true,
          .types = 2,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .source =
              "Devlin et al. 2019, arXiv:1810.04805, sec. 3; google-bert config.json. "
              "Pre-training head: tied projection only"};
}

ModelConfig vision(const char* name, Dims d, std::int64_t patch, const char* source) {
  const std::int64_t side = 224 / patch;
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
          .patch = patch,
          .channels = 3,
          .classes = 1000,
          .source = source};
}

ModelConfig vit(const char* name, Dims d, std::int64_t patch) {
  return vision(name, d, patch,
                "Dosovitskiy et al. 2021, arXiv:2010.11929, table 1; 224 x 224, "
                "1000 classes, no dropout");
}

struct LlamaDims {
  int layers;
  std::int64_t hidden, heads, kv_heads, ffn, vocab, sequence;
};

ModelConfig llama(const char* name, LlamaDims d, const char* source) {
  return {.name = name,
          .family = Family::decoder,
          .layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.kv_heads,
          .head_dim = d.hidden / d.heads,
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

constexpr const char* kLlama2 =
    "Touvron et al. 2023, arXiv:2307.09288, table 1 and sec. 2.2; "
    "meta-llama config.json";
constexpr const char* kLlama3 = "Llama team 2024, arXiv:2407.21783, table 3; context 8192";

struct T5Dims {
  int layers;
  std::int64_t hidden, heads, head_dim, ffn;
};

ModelConfig t5(const char* name, T5Dims d) {
  return {.name = name,
          .family = Family::encoder_decoder,
          .layers = d.layers,
          .decoder_layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = d.head_dim,
          .ffn = d.ffn,
          .vocab = 32128,
          .sequence = 512,
          .norm = Norm::rms_norm,
          .activation = Activation::relu,
          .positions = Positions::relative,
          .bias = false,
          .qkv_bias = false,
          .causal = true,
          .relative_buckets = 32,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .source = "Raffel et al. 2020, arXiv:1910.10683, sec. 2.1, 3.7; google-t5 config.json"};
}

/// Dropout of the paper: sublayer outputs and embeddings only.
ModelConfig transformer(const char* name, Dims d, double dropout) {
  return {.name = name,
          .family = Family::encoder_decoder,
          .layers = d.layers,
          .decoder_layers = d.layers,
          .hidden = d.hidden,
          .heads = d.heads,
          .kv_heads = d.heads,
          .head_dim = d.hidden / d.heads,
          .ffn = 4 * d.hidden,
          .vocab = 37000,
          .sequence = 256,
          .norm_place = NormPlace::post,
          .activation = Activation::relu,
          .positions = Positions::sinusoidal,
          .causal = true,
          .final_norm = false,
          .dropout = dropout,
          .source =
              "Vaswani et al. 2017, arXiv:1706.03762, table 3, English-German vocabulary of "
              "sec. 5.1"};
}

/// The query layer is the last of the table's layers: 12 L h^2 then gives the sizes in its name.
ModelConfig pangu(const char* name, Dims d) {
  ModelConfig c = gpt(name, d, 40000, 1024, "Zeng et al. 2021, arXiv:2104.12369, table 1");
  c.query_layer = true;
  return c;
}

ModelConfig mistral() {
  // The sequence is the attention's window, so that windowed and full attention are the same.
  return llama("mistral-7b", {32, 4096, 32, 8, 14336, 32000, 4096},
               "Jiang et al. 2023, arXiv:2310.06825, table 1");
}

ModelConfig bloom() {
  ModelConfig c = gpt("bloom-176b", {70, 14336, 112}, 250880, 2048,
                      "BigScience 2022, arXiv:2211.05100, table 3");
  c.positions = Positions::none;  // ALiBi adds constants to the scores
  c.max_positions = 0;
  c.embedding_norm = true;
  c.dropout = c.attention_dropout = 0;
  return c;
}

ModelConfig neox() {
  ModelConfig c = gpt("gpt-neox-20b", {44, 6144, 64}, 50432, 2048,
                      "Black et al. 2022, arXiv:2204.06745, sec. 2; EleutherAI config.json");
  c.positions = Positions::rotary;
  c.max_positions = 0;
  c.parallel_residual = true;
  c.tied_embedding = false;
  c.dropout = c.attention_dropout = 0;
  return c;
}

std::vector<ModelConfig> all_models() {
  return {
      bert("bert-base", {12, 768, 12}),
      bert("bert-large", {24, 1024, 16}),
      gpt2("gpt2", {12, 768, 12}),
      gpt2("gpt2-medium", {24, 1024, 16}),
      gpt2("gpt2-large", {36, 1280, 20}),
      gpt2("gpt2-xl", {48, 1600, 25}),
      gpt3("gpt3-125m", {12, 768, 12}),
      gpt3("gpt3-350m", {24, 1024, 16}),
      gpt3("gpt3-760m", {24, 1536, 16}),
      gpt3("gpt3-1.3b", {24, 2048, 16}),
      gpt3("gpt3-2.7b", {32, 2560, 32}),
      gpt3("gpt3-6.7b", {32, 4096, 32}),
      gpt3("gpt3-13b", {40, 5120, 40}),
      gpt3("gpt3-175b", {96, 12288, 96}),
      gpt("gpt-22b", {48, 6144, 64}, 51200, 2048,
          "Korthikanti et al. 2022, arXiv:2205.05198, table 3"),
      megatron("megatron-1.7b", {24, 2304, 24}),
      megatron("megatron-3.6b", {30, 3072, 32}),
      megatron("megatron-7.5b", {36, 4096, 32}),
      megatron("megatron-18.4b", {40, 6144, 48}),
      megatron("megatron-39.1b", {48, 8192, 64}),
      megatron("megatron-76.1b", {60, 10240, 80}),
      megatron("megatron-145.6b", {80, 12288, 96}),
      megatron("megatron-310.1b", {96, 16384, 128}),
      megatron("megatron-529.6b", {105, 20480, 128}),
      megatron("megatron-1t", {128, 25600, 160}),
      pangu("pangu-alpha-2.6b", {32, 2560, 40}),
      pangu("pangu-alpha-13b", {40, 5120, 40}),
      pangu("pangu-alpha-200b", {64, 16384, 128}),
      neox(),
      bloom(),
      llama("llama2-7b", {32, 4096, 32, 32, 11008, 32000, 4096}, kLlama2),
      llama("llama2-13b", {40, 5120, 40, 40, 13824, 32000, 4096}, kLlama2),
      llama("llama2-70b", {80, 8192, 64, 8, 28672, 32000, 4096}, kLlama2),
      llama("llama3-8b", {32, 4096, 32, 8, 14336, 128256, 8192}, kLlama3),
      llama("llama3-70b", {80, 8192, 64, 8, 28672, 128256, 8192}, kLlama3),
      llama("llama3-405b", {126, 16384, 128, 8, 53248, 128256, 8192}, kLlama3),
      mistral(),
      transformer("transformer-base", {6, 512, 8}, 0.1),
      transformer("transformer-big", {6, 1024, 16}, 0.3),
      t5("t5-small", {6, 512, 8, 64, 2048}),
      t5("t5-base", {12, 768, 12, 64, 3072}),
      t5("t5-large", {24, 1024, 16, 64, 4096}),
      t5("t5-3b", {24, 1024, 32, 128, 16384}),
      t5("t5-11b", {24, 1024, 128, 128, 65536}),
      vit("vit-b16", {12, 768, 12}, 16),
      vit("vit-l16", {24, 1024, 16}, 16),
      vit("vit-h14", {32, 1280, 16}, 14),
      vision("beit-base", {12, 768, 12}, 16,
             "Bao et al. 2022, arXiv:2106.08254, sec. 2.5; fine-tuned on 1000 classes"),
  };
}

}  // namespace

std::span<const ModelConfig> registry() {
  static const std::vector<ModelConfig> models = [] {
    std::vector<ModelConfig> all = all_models();
    const std::vector<ModelConfig> moe = moe_models();
    all.insert(all.end(), moe.begin(), moe.end());
    const std::vector<ModelConfig> swin = swin_models();
    all.insert(all.end(), swin.begin(), swin.end());
    return all;
  }();
  return models;
}

std::optional<ModelConfig> model_named(std::string_view name) {
  const auto models = registry();
  const auto it = std::find_if(models.begin(), models.end(),
                               [name](const ModelConfig& m) { return m.name == name; });
  return it == models.end() ? std::nullopt : std::optional(*it);
}

}  // namespace tsim::models
