#include "sim/input/models/read_hf_config.hpp"

#include <array>

#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using models::ModelConfig;

struct Type {
  std::string_view name;          // model_type
  std::string_view architecture;  // how the names of its classes begin
  ModelConfig (*read)(Reader&);
  bool experts = false;
};
constexpr std::array kTypes{Type{"bert", "Bert", hf::read_bert},
                            Type{"roberta", "Roberta", hf::read_roberta},
                            Type{"gpt2", "GPT2", hf::read_gpt2},
                            Type{"opt", "OPT", hf::read_opt},
                            Type{"gpt_neox", "GPTNeoX", hf::read_gpt_neox},
                            Type{"bloom", "Bloom", hf::read_bloom},
                            Type{"llama", "Llama", hf::read_llama},
                            Type{"mistral", "Mistral", hf::read_mistral},
                            Type{"qwen2", "Qwen2For", hf::read_qwen2},
                            Type{"qwen3", "Qwen3For", hf::read_qwen3},
                            Type{"phi3", "Phi3For", hf::read_phi3},
                            Type{"gemma", "GemmaFor", hf::read_gemma},
                            Type{"t5", "T5", hf::read_t5},
                            Type{"vit", "ViT", hf::read_vit},
                            Type{"mixtral", "Mixtral", hf::read_mixtral, true},
                            Type{"qwen2_moe", "Qwen2Moe", hf::read_qwen2_moe, true},
                            Type{"qwen3_moe", "Qwen3Moe", hf::read_qwen3_moe, true},
                            Type{"dbrx", "Dbrx", hf::read_dbrx, true},
                            Type{"deepseek_v2", "DeepseekV2", hf::read_deepseek_v2, true},
                            Type{"deepseek_v3", "DeepseekV3", hf::read_deepseek_v3, true},
                            Type{"switch_transformers", "Switch", hf::read_switch, true}};

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  names.reserve(kTypes.size());
  for (const Type& type : kTypes) { names.push_back(type.name); }
  return names;
}

/// model_type, or what the architecture or the keys of older files say in its place.
std::string type_of(Reader& in) {
  const Place stated = in.take("model_type");
  if (stated.present()) { return read_text(stated); }
  for (const Type& type : kTypes) {
    if (hf::architecture_has(in, type.architecture)) { return std::string(type.name); }
  }
  if (in.take("type_vocab_size").present()) { return "bert"; }
  if (in.take("n_embd").present()) { return "gpt2"; }
  if (in.take("d_kv").present()) { return "t5"; }
  if (in.take("patch_size").present()) { return "vit"; }
  stated.fail("nothing", "one of " + join(type_names()));
  return {};
}

/// Experts in a file whose model_type is a dense one: true when there are some.
bool refuse_experts(Reader& in, const std::string& type) {
  static constexpr std::array<std::string_view, 5> kExperts{
      "num_local_experts", "num_experts", "n_routed_experts", "num_routed_experts", "kv_lora_rank"};
  for (const std::string_view key : kExperts) {
    const Place place = in.take(key);
    if (!place.present()) { continue; }
    std::vector<std::string_view> names;
    for (const Type& known : kTypes) {
      if (known.experts) { names.push_back(known.name); }
    }
    place.fail(place.found() + " in a " + in_quotes(type) + " model", "a dense Transformer",
               "model_type is one of " + join(names) + " where there are experts");
    return true;
  }
  return false;
}

}  // namespace

ModelConfig read_hf_config(const Json& document, const Source& source) {
  Reader in(Place{&document, "", &source});
  if (!in.readable()) { return {}; }
  const std::string type = type_of(in);
  if (type.empty()) { return {}; }
  for (const Type& candidate : kTypes) {
    if (candidate.name != type) { continue; }
    return !candidate.experts && refuse_experts(in, type) ? ModelConfig{} : candidate.read(in);
  }
  in.take("model_type")
      .fail(in_quotes(type), "one of " + join(type_names()), did_you_mean(type, type_names()));
  return {};
}

}  // namespace tsim::sim
