// Configurations of models with experts, cut down to the keys that matter; counts are those of the
// published checkpoints.
#include <doctest/doctest.h>

#include "models/registry.hpp"
#include "sim/input/models/read_hf_config.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

models::ModelConfig read(const std::string& text) {
  Problems problems;
  const Source source{.problems = &problems, .file = {}, .null_is_absent = true};
  const Json json = Json::parse(text);
  models::ModelConfig model = read_hf_config(json, source);
  for (const InputError& error : problems.errors()) { FAIL_CHECK(to_text(error)); }
  for (const models::ConfigProblem& p : models::problems(model)) { FAIL_CHECK(p.key, p.found); }
  return model;
}

}  // namespace

TEST_CASE("Mixtral 8x7B: 46,702,792,704, and 12.88 billion active") {
  const models::ModelConfig m = read(
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
          "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
          "sliding_window": null, "vocab_size": 32000})");
  CHECK(models::parameters(m) == 46'702'792'704);
  CHECK(models::active_parameters(m) == 12'879'925'248);
}

TEST_CASE("Mixtral with 32 key and value heads has larger projections") {
  // Keys and values of 4096 instead of 1024 columns: 32 layers of 2 x 4096 x 3072 more.
  const models::ModelConfig m = read(
      R"({"model_type": "mixtral", "num_key_value_heads": 32, "max_position_embeddings": 4096})");
  CHECK(models::parameters(m) == 46'702'792'704 + 32LL * 2 * 4096 * 3072);
}

TEST_CASE("Qwen3-30B-A3B: 30,532,122,624") {
  const std::string qwen =
      R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128,
          "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
          "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
          "num_hidden_layers": 48, "num_key_value_heads": 4, "vocab_size": 151936,
          "mlp_only_layers": )";
  CHECK(models::parameters(read(qwen + "[]}")) == 30'532'122'624);
  // A dense MLP of 6144 columns in place of 128 experts of 768 and their router.
  CHECK(models::parameters(read(qwen + "[0, 47]}")) ==
        30'532'122'624 - 2LL * 2048 * (128 + 128 * 3 * 768 - 3 * 6144));
}

TEST_CASE("DBRX's experts are told in ffn_config: 131,596,523,520") {
  const models::ModelConfig m = read(
      R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
          "max_seq_len": 32768, "vocab_size": 100352, "attn_config": {"kv_n_heads": 8},
          "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})");
  CHECK(models::parameters(m) == 131'596'523'520);
  CHECK(m.moe.top_k == 4);
}

TEST_CASE("DeepSeek-V3: 671,026,419,200 by either name of its keys") {
  const std::string rest =
      R"("model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168,
         "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048,
         "moe_layer_freq": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
         "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
         "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
         "v_head_dim": 128, "vocab_size": 129280})";
  for (const char* names : {R"({"n_routed_experts": 256, "n_shared_experts": 1, )",
                            R"({"num_routed_experts": 256, "num_shared_experts": 1, )"}) {
    const models::ModelConfig m = read(names + rest);
    CHECK(models::parameters(m) == 671'026'419'200);
    CHECK(models::active_parameters(m) == doctest::Approx(37.55e9).epsilon(0.001));
  }
}

TEST_CASE("DeepSeek-V2-Lite has no low rank for its queries: 15,706,484,224") {
  const models::ModelConfig m = read(
      R"({"model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048,
          "intermediate_size": 10944, "kv_lora_rank": 512, "moe_intermediate_size": 1408,
          "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
          "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
          "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
          "v_head_dim": 128, "vocab_size": 102400, "max_position_embeddings": 163840})");
  CHECK(models::parameters(m) == 15'706'484'224);
}

TEST_CASE("Switch is T5 with experts in every second layer") {
  // T5-base, and in 6 + 6 layers seven more MLPs of 768 x 3072 and a router.
  const models::ModelConfig m = read(
      R"({"model_type": "switch_transformers", "d_model": 768, "d_ff": 3072, "d_kv": 64,
          "num_heads": 12, "num_layers": 12, "num_decoder_layers": 12, "num_experts": 8,
          "num_sparse_encoder_layers": 6, "num_sparse_decoder_layers": 6})");
  CHECK(models::parameters(m) == 222'903'552 + 12LL * (7 * 2 * 768 * 3072 + 768 * 8));
}
