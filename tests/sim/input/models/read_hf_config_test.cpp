// Parameter counts are the published ones of the checkpoints; the configurations are their
// config.json files cut down to the keys that matter here.
#include "sim/input/models/read_hf_config.hpp"

#include <doctest/doctest.h>

#include "models/registry.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

struct Read {
  models::ModelConfig model;
  Texts problems;
};
Read read(const std::string& text) {
  Problems problems;
  const Source source{.problems = &problems, .file = {}, .null_is_absent = true};
  const Json json = Json::parse(text);
  Read result{read_hf_config(json, source), {}};
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  return result;
}

std::int64_t parameters_of(const std::string& text) {
  const Read r = read(text);
  CHECK(r.problems == Texts{});
  for (const models::ConfigProblem& p : models::problems(r.model)) { FAIL_CHECK(p.key, p.found); }
  return r.problems.empty() ? models::parameters(r.model) : 0;
}

}  // namespace

TEST_CASE("BERT counts its encoder and pooler: 109,482,240 and 335,141,888") {
  CHECK(parameters_of(R"({"architectures": ["BertForMaskedLM"], "model_type": "bert"})") ==
        109'482'240);
  CHECK(parameters_of(R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
                          "num_attention_heads": 16, "intermediate_size": 4096})") == 335'141'888);
}

TEST_CASE("BERT of another vocabulary is another model: 124,644,864") {
  CHECK(parameters_of(R"({"model_type": "bert", "vocab_size": 50265})") == 124'644'864);
}

TEST_CASE("BERT for classification has two classes unless told: 109,483,778") {
  const std::string bert =
      R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert",
          "classifier_dropout": null)";
  CHECK(parameters_of(bert + "}") == 109'483'778);
  CHECK(read(bert + R"(, "num_labels": 5})").model.classes == 5);
}

TEST_CASE("files older than model_type are told by architecture or keys") {
  CHECK(parameters_of(R"({"architectures": ["BertForMaskedLM"]})") == 109'482'240);
  CHECK(parameters_of(R"({"type_vocab_size": 2, "vocab_size": 30522})") == 109'482'240);
  CHECK(parameters_of(R"({"n_embd": 768})") == 124'439'808);
}

TEST_CASE("GPT-2's own key names, and null for four times the width: 124,439,808") {
  CHECK(parameters_of(R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12,
                          "n_inner": null, "dtype": "float16"})") == 124'439'808);
  CHECK(parameters_of(R"({"model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_layer": 48})") ==
        1'557'611'200);
}

TEST_CASE("Llama 2 7B without head_dim, rope_theta or grouped queries: 6,738,415,616") {
  CHECK(parameters_of(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
                          "max_position_embeddings": 2048, "num_attention_heads": 32,
                          "num_hidden_layers": 32, "num_key_value_heads": 32,
                          "rope_scaling": null, "vocab_size": 32000})") == 6'738'415'616);
  CHECK(parameters_of(R"({"model_type": "llama"})") == 6'738'415'616);  // the class's defaults
}

TEST_CASE("Llama 2 70B with keys that nobody knows: 68,976,648,192") {
  CHECK(parameters_of(R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
                          "num_attention_heads": 64, "num_hidden_layers": 80,
                          "num_key_value_heads": 8, "sequence_parallel_enabled": false})") ==
        68'976'648'192);
}

TEST_CASE("Llama 3 8B: 8,030,261,248") {
  CHECK(parameters_of(R"({"model_type": "llama", "vocab_size": 128256,
                          "intermediate_size": 14336, "num_key_value_heads": 8})") ==
        8'030'261'248);
}

TEST_CASE("Mistral 7B: 7,241,732,096, and its sequence is the window") {
  const std::string mistral = R"({"model_type": "mistral", "max_position_embeddings": 32768)";
  CHECK(parameters_of(mistral + "}") == 7'241'732'096);
  CHECK(read(mistral + "}").model.sequence == 32768);
  CHECK(read(mistral + R"(, "sliding_window": 4096})").model.sequence == 4096);
}

TEST_CASE("T5 small: 60,506,624") {
  CHECK(parameters_of(R"({"model_type": "t5", "d_model": 512, "d_kv": 64, "d_ff": 2048,
                          "num_layers": 6, "num_heads": 8, "feed_forward_proj": "relu"})") ==
        60'506'624);
}

TEST_CASE("T5 v1.1 small is gated and untied: 76,961,152") {
  CHECK(parameters_of(R"({"model_type": "t5", "d_model": 512, "d_kv": 64, "d_ff": 1024,
                          "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu",
                          "tie_word_embeddings": false})") == 76'961'152);
}

TEST_CASE("GPT-NeoX 20B: 20,554,567,680") {
  const Read r = read(R"({"model_type": "gpt_neox", "rotary_pct": 0.25})");
  CHECK(r.model.parallel_residual);
  CHECK(parameters_of(R"({"model_type": "gpt_neox"})") == 20'554'567'680);
}

TEST_CASE("ViT-B/16 takes its classes from the labels: 86,567,656") {
  std::string labels;
  for (int i = 0; i < 1000; ++i) {
    labels += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": \"label\"";
  }
  const std::string text = R"({"architectures": ["ViTForImageClassification"], "model_type": "vit",
                               "id2label": {)" +
                           labels + "}}";
  CHECK(parameters_of(text) == 86'567'656);
  CHECK(read(text).model.sequence == 197);
}

TEST_CASE("Qwen2 0.5B has biases of queries, keys and values only: 494,032,768") {
  CHECK(parameters_of(R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
                          "num_attention_heads": 14, "num_hidden_layers": 24,
                          "num_key_value_heads": 2, "tie_word_embeddings": true,
                          "vocab_size": 151936})") == 494'032'768);
}

TEST_CASE("Qwen3 8B has heads of 128 and norms of queries and keys: 8,190,735,360") {
  CHECK(parameters_of(R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
                          "num_attention_heads": 32, "num_hidden_layers": 36,
                          "num_key_value_heads": 8, "vocab_size": 151936})") == 8'190'735'360);
}

TEST_CASE("Gemma 7B has heads of 256 beside a width of 3072: 8,537,680,896") {
  CHECK(parameters_of(R"({"model_type": "gemma"})") == 8'537'680'896);
}

TEST_CASE("Phi-3 mini: 3,821,079,552") {
  CHECK(parameters_of(R"({"model_type": "phi3"})") == 3'821'079'552);
}

TEST_CASE("OPT 125M keeps two position rows more than positions: 125,239,296") {
  CHECK(parameters_of(R"({"model_type": "opt"})") == 125'239'296);
  CHECK(read(R"({"model_type": "opt"})").model.sequence == 2048);
}

TEST_CASE("an OPT whose embeddings are narrower than its layers is refused") {
  CHECK(read(R"({"model_type": "opt", "hidden_size": 1024, "num_attention_heads": 16,
                 "word_embed_proj_dim": 512})")
            .problems ==
        Texts{"/word_embed_proj_dim: found 512, expected hidden_size = 1024; hint: embeddings of "
              "another width are not available yet"});
}

TEST_CASE("BLOOM 560M: 559,214,592") {
  CHECK(parameters_of(R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "n_head": 16,
                          "vocab_size": 250880})") == 559'214'592);
}

TEST_CASE("RoBERTa base: 124,645,632 with its pooler") {
  CHECK(parameters_of(R"({"model_type": "roberta", "max_position_embeddings": 514,
                          "type_vocab_size": 1, "vocab_size": 50265})") == 124'645'632);
}

TEST_CASE("a file agrees with the model of the same name in everything but where it comes from") {
  const auto same = [](const std::string& text, const char* name) {
    models::ModelConfig read_one = read(text).model;
    const models::ModelConfig named = *models::model_named(name);
    read_one.name = named.name;
    read_one.source = named.source;
    return read_one == named;
  };
  CHECK(same(R"({"model_type": "bert"})", "bert-base"));
  CHECK(same(R"({"model_type": "gpt2"})", "gpt2"));
  CHECK(same(R"({"model_type": "llama", "max_position_embeddings": 4096})", "llama2-7b"));
  CHECK(same(R"({"model_type": "t5"})", "t5-small"));
  CHECK(same(R"({"model_type": "gpt_neox"})", "gpt-neox-20b"));
}

TEST_CASE("experts in a file of a dense model are refused") {
  const Texts texts = read(R"({"model_type": "llama", "num_experts": 8})").problems;
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].starts_with(
      "/num_experts: found 8 in a \"llama\" model, expected a dense Transformer; hint: model_type "
      "is one of mixtral, "));
}

TEST_CASE("a type that is not known is refused with those that are") {
  const Texts texts = read(R"({"model_type": "lama"})").problems;
  REQUIRE(texts.size() == 1);
  CHECK(texts[0] ==
        "/model_type: found \"lama\", expected one of bert, roberta, gpt2, opt, gpt_neox, bloom, "
        "llama, mistral, qwen2, qwen3, phi3, gemma, t5, vit, mixtral, qwen2_moe, qwen3_moe, dbrx, "
        "deepseek_v2, deepseek_v3, switch_transformers; hint: did you mean \"llama\"?");
  CHECK(read("{}").problems.front().starts_with("/model_type: found nothing, expected one of"));
}

TEST_CASE("values of the wrong type are errors under the file's own keys") {
  CHECK(read(R"({"model_type": "llama", "hidden_size": "4096", "num_hidden_layers": -1,
                 "hidden_act": "tanh", "tie_word_embeddings": 0})")
            .problems ==
        Texts{"/hidden_size: found \"4096\" (text), expected a whole number >= 1; hint: remove the "
              "quotes",
              "/num_hidden_layers: found -1, expected a whole number >= 1",
              "/hidden_act: found \"tanh\", expected one of gelu, gelu_new, gelu_fast, "
              "gelu_pytorch_tanh, quick_gelu, gelu_10, silu, swish, relu",
              "/tie_word_embeddings: found 0, expected true or false"});
}
