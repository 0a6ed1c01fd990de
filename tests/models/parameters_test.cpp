// Parameter counts against public ones.
#include <doctest/doctest.h>

#include <string>

#include "models/registry.hpp"

using namespace tsim;

namespace {

struct Count {
  const char* name;
  std::int64_t parameters;
};

// Numbers of trained elements that the published checkpoints hold.
constexpr Count kPublic[] = {
    {"bert-base", 109'482'240},  // BertModel with pooler
    {"bert-large", 335'141'888},
    {"gpt2", 124'439'808},
    {"gpt2-medium", 354'823'168},
    {"gpt2-large", 774'030'080},
    {"gpt2-xl", 1'557'611'200},
    {"gpt-neox-20b", 20'554'567'680},
    {"bloom-176b", 176'247'271'424},
    {"llama2-7b", 6'738'415'616},
    {"llama2-13b", 13'015'864'320},
    {"llama2-70b", 68'976'648'192},
    {"llama3-8b", 8'030'261'248},
    {"llama3-70b", 70'553'706'496},
    {"llama3-405b", 405'853'388'800},
    {"mistral-7b", 7'241'732'096},
    {"t5-small", 60'506'624},
    {"t5-base", 222'903'552},
    {"t5-large", 737'668'096},
    {"t5-3b", 2'851'598'336},
    {"t5-11b", 11'307'321'344},
    {"vit-b16", 86'567'656},  // with a head of 1000 classes
    {"vit-l16", 304'326'632},
    {"vit-h14", 632'045'800},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"dbrx", 131'596'523'520},
    {"deepseek-v2", 235'741'434'880},
    {"deepseek-v3", 671'026'419'200},  // without the prediction module, with correction biases
};

// Sizes that papers round: Brown et al. table 2.1, Narayanan et al. table 1, Zeng et al. table 1,
// Vaswani et al. table 3, Korthikanti et al. table 3.
struct Rounded {
  const char* name;
  double parameters;
  double tolerance;
};
constexpr Rounded kRounded[] = {
    {"gpt3-125m", 125e6, 0.005},
    {"gpt3-350m", 350e6, 0.02},
    {"gpt3-760m", 760e6, 0.005},
    {"gpt3-1.3b", 1.3e9, 0.015},
    {"gpt3-2.7b", 2.7e9, 0.02},
    {"gpt3-6.7b", 6.7e9, 0.01},
    {"gpt3-13b", 13e9, 0.015},
    {"gpt3-175b", 175e9, 0.005},
    {"gpt-22b", 22e9, 0.02},
    {"megatron-1.7b", 1.7e9, 0.03},
    {"megatron-3.6b", 3.6e9, 0.02},
    {"megatron-7.5b", 7.5e9, 0.01},
    {"megatron-18.4b", 18.4e9, 0.005},
    {"megatron-39.1b", 39.1e9, 0.005},
    {"megatron-76.1b", 76.1e9, 0.005},
    {"megatron-145.6b", 145.6e9, 0.005},
    {"megatron-310.1b", 310.1e9, 0.005},
    {"megatron-529.6b", 529.6e9, 0.005},
    {"megatron-1t", 1008e9, 0.005},
    {"pangu-alpha-2.6b", 2.6e9, 0.02},
    {"pangu-alpha-13b", 13e9, 0.02},
    {"pangu-alpha-200b", 206.9e9, 0.005},
    {"transformer-base", 65e6, 0.04},
    {"transformer-big", 213e6, 0.02},
};

std::int64_t parameters_of(const char* name) {
  const auto config = models::model_named(name);
  REQUIRE_MESSAGE(config, name);
  return models::parameters(*config);
}

}  // namespace

TEST_CASE("models with a public checkpoint have exactly its number of parameters") {
  for (const Count& row : kPublic) {
    CAPTURE(row.name);
    CHECK(parameters_of(row.name) == row.parameters);
  }
}

TEST_CASE("models known from papers have the size that the paper states") {
  for (const Rounded& row : kRounded) {
    CAPTURE(row.name);
    CHECK(static_cast<double>(parameters_of(row.name)) ==
          doctest::Approx(row.parameters).epsilon(row.tolerance));
  }
}

TEST_CASE("a layer with biases has 12 h^2 + 13 h parameters") {
  for (const char* name : {"gpt2", "gpt3-175b", "bert-large", "vit-l16", "megatron-1t"}) {
    CAPTURE(name);
    const models::Model model = models::build_model(*models::model_named(name), {});
    const std::int64_t h = model.config.hidden;
    CHECK(models::parameters(model.blocks.at(1).graph) == 12 * h * h + 13 * h);
  }
}

TEST_CASE("another vocabulary changes a BERT by its embedding alone") {
  // 109,482,240 + (50265 - 30522) * 768
  models::ModelConfig bert = *models::model_named("bert-base");
  bert.vocab = 50265;
  CHECK(models::parameters(bert) == 124'644'864);
}

TEST_CASE("BERT with its whole pre-training head has the public count of BertForMaskedLM") {
  models::ModelConfig bert = *models::model_named("bert-base");
  bert.head_transform = bert.head_bias = true;
  bert.pooler = false;
  CHECK(models::parameters(bert) == 109'514'298);
}

TEST_CASE("models with experts have the sizes of their papers") {
  // Lepikhin et al. "600B"; Fedus et al. table 9; Rajbhandari et al. tables 1 and 5, MoS in sec.
  // 4.2. Switch-Large's experts alone are 24 x 128 x 3 x 1024 x 2816 = 26.6e9.
  for (const Rounded& row :
       {Rounded{"gshard-600b", 600e9, 0.04}, Rounded{"switch-base", 7e9, 0.08},
        Rounded{"switch-large", 26e9, 0.05}, Rounded{"switch-xxl", 395e9, 0.01},
        Rounded{"switch-c", 1571e9, 0.005}, Rounded{"deepspeed-moe-350m-128", 13e9, 0.02},
        Rounded{"deepspeed-moe-1.3b-128", 52e9, 0.015}, Rounded{"pr-moe-350m-32-64", 4e9, 0.04},
        Rounded{"pr-moe-1.3b-64-128", 31e9, 0.015}, Rounded{"mos-350m-32-64", 3.5e9, 0.02},
        Rounded{"mos-1.3b-64-128", 27e9, 0.01}}) {
    CAPTURE(row.name);
    const auto count = static_cast<double>(models::parameters(*models::model_named(row.name)));
    CHECK(count == doctest::Approx(row.parameters).epsilon(row.tolerance));
  }
}

TEST_CASE("V-MoE adds 31 experts and a router to every second layer of its ViT") {
  // ViT-B/16: six layers, experts of 768 x 3072 twice with biases, routers of 768 x 32.
  CHECK(models::parameters(*models::model_named("v-moe-b16")) ==
        86'567'656 + 6LL * (31 * (2 * 768 * 3072 + 3072 + 768) + 768 * 32));
  CHECK(models::parameters(*models::model_named("v-moe-l16")) ==
        304'326'632 + 12LL * (31 * (2 * 1024 * 4096 + 4096 + 1024) + 1024 * 32));
}

TEST_CASE("a token meets the published number of parameters of its experts") {
  // Jiang et al. 2024 "13B" (12.88 B counted from the checkpoint), Qwen team 2025 "3.3B active",
  // Databricks 2024 "36B active", arXiv:2405.04434 "21B", arXiv:2412.19437 "37B".
  struct Active {
    const char* name;
    double parameters;
  };
  for (const Active& row : {Active{"mixtral-8x7b", 12.88e9}, Active{"mixtral-8x22b", 39.1e9},
                            Active{"qwen3-30b-a3b", 3.35e9}, Active{"dbrx", 36.5e9},
                            Active{"deepseek-v2", 21.4e9}, Active{"deepseek-v3", 37.55e9}}) {
    CAPTURE(row.name);
    const auto active =
        static_cast<double>(models::active_parameters(*models::model_named(row.name)));
    CHECK(active == doctest::Approx(row.parameters).epsilon(0.003));
  }
}

TEST_CASE("a classification head replaces BERT's vocabulary projection") {
  // BertForSequenceClassification with two labels: 2 * 768 + 2 more.
  models::ModelConfig bert = *models::model_named("bert-base");
  bert.head = false;
  bert.classes = 2;
  CHECK(models::parameters(bert) == 109'483'778);
}

TEST_CASE("norms of queries and keys add a head's width each per layer") {
  models::ModelConfig config = *models::model_named("llama3-8b");
  const std::int64_t before = models::parameters(config);
  config.qk_norm = true;
  CHECK(models::parameters(config) == before + 32 * 2 * 128);
}

TEST_CASE("an untied head holds a vocabulary of its own") {
  models::ModelConfig config = *models::model_named("gpt2");
  config.tied_embedding = false;
  CHECK(models::parameters(config) == 124'439'808 + 50257 * 768);
}

TEST_CASE("blocks sum to the model, the shared vocabulary counted once") {
  for (const models::ModelConfig& config : models::registry()) {
    CAPTURE(config.name);
    std::int64_t sum = 0;
    int tables = 0;
    for (const models::Block& block : models::build_model(config, {}).blocks) {
      sum += block.count * models::parameters(block.graph);
      for (const models::Tensor& t : block.graph.tensors) {
        tables += t.role == models::Role::weight && t.name == "embedding.word" ? 1 : 0;
      }
    }
    const std::int64_t repeated = tables > 1 ? (tables - 1) * config.vocab * config.hidden : 0;
    CHECK(sum - repeated == models::parameters(config));
  }
}
