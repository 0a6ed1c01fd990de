#include "sim/input/read_hf_config.hpp"

#include <algorithm>
#include <array>

#include "sim/input/read_model.hpp"
#include "sim/input/read_model_fields.hpp"
#include "sim/input/suggest.hpp"

// Defaults are those of the configuration classes in github.com/huggingface/transformers v4.57,
// src/transformers/models/<model_type>/configuration_<model_type>.py.

namespace tsim::sim {
namespace {

using models::Activation;
using models::ModelConfig;
using models::Positions;
using namespace model_limits;

constexpr RealRange kProbability{.least = 0.0, .most = 1.0};

/// The layer's non-linearity; every smooth one costs as much as GELU.
Activation read_activation(Reader& in, std::string_view key, std::string_view fallback,
                           bool gated) {
  static constexpr std::array<std::string_view, 9> kNames{
      "gelu", "gelu_new",   "gelu_fast", "gelu_pytorch_tanh", "quick_gelu",
      "gelu_10", "silu", "swish", "relu"};
  const Place place = in.take(key);
  std::string_view name = fallback;
  if (place.present()) { name = kNames[read_choice(place, kNames)]; }
  const bool silu = name == "silu" || name == "swish";
  if (gated) { return silu ? Activation::swiglu : Activation::geglu; }
  return name == "relu" ? Activation::relu : Activation::gelu;
}

int read_layers(Reader& in, std::string_view key, std::int64_t fallback) {
  return static_cast<int>(read_count(in.take(key), kLayers, fallback));
}

std::int64_t read_labels(Reader& in) {
  const Place labels = in.take("id2label");
  const Place number = in.take("num_labels");
  if (labels.present() && labels.value->is_object()) {
    return static_cast<std::int64_t>(labels.value->size());
  }
  return read_count(number, kVocab, 2);
}

/// The head that the architecture's name tells: `BertForSequenceClassification`.
bool architecture_has(Reader& in, std::string_view part) {
  const std::vector<Place> names = read_entries(in.take("architectures"));
  return std::any_of(names.begin(), names.end(), [&](const Place& place) {
    return read_text(place).find(part) != std::string::npos;
  });
}

void set_head_dim(Reader& in, std::string_view heads_key, ModelConfig& m) {
  if (m.head_dim == 0) { m.head_dim = m.hidden / m.heads; }
  if (m.head_dim == 0 || m.heads * m.head_dim > kAttentionWidth) {
    in.take(heads_key).fail(std::to_string(m.heads) + " heads of " + std::to_string(m.head_dim),
                            "a head size >= 1 and a width of at most " +
                                std::to_string(kAttentionWidth));
    m.head_dim = 1;
  }
}

/// Keys that most of the library's models share, with the defaults that differ by model.
struct Defaults {
  std::int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions;
};

ModelConfig read_common(Reader& in, const Defaults& d) {
  ModelConfig m;
  m.vocab = read_count(in.take("vocab_size"), kVocab, d.vocab);
  m.hidden = read_count(in.take("hidden_size"), kHidden, d.hidden);
  m.layers = read_layers(in, "num_hidden_layers", d.layers);
  m.heads = read_count(in.take("num_attention_heads"), kHeads, d.heads);
  m.ffn = read_count(in.take("intermediate_size"), kFfn, d.ffn);
  m.max_positions = read_count(in.take("max_position_embeddings"), kSequence, d.positions);
  m.sequence = m.max_positions;
  m.kv_heads = m.heads;
  set_head_dim(in, "num_attention_heads", m);
  return m;
}

ModelConfig read_bert(Reader& in) {
  ModelConfig m = read_common(in, {30522, 768, 12, 12, 12, 3072, 512});
  m.family = models::Family::encoder;
  m.norm_place = models::NormPlace::post;
  m.activation = read_activation(in, "hidden_act", "gelu", false);
  m.types = read_count(in.take("type_vocab_size"), {0, 10'000}, 2);
  m.dropout = read_real(in.take("hidden_dropout_prob"), kProbability, 0.1);
  m.attention_dropout = read_real(in.take("attention_probs_dropout_prob"), kProbability, 0.1);
  m.embedding_norm = true;
  m.final_norm = false;
  m.pooler = true;
  // As published counts do, without the transform and bias of the pre-training head; a scenario
  // may set head_transform and head_bias.
  if (architecture_has(in, "ForSequenceClassification")) {
    m.head = false;
    m.classes = read_labels(in);
  }
  return m;
}

/// RoBERTa is BERT with one token type; its position table starts at the padding index + 1.
ModelConfig read_roberta(Reader& in) {
  ModelConfig m = read_bert(in);
  if (!in.take("vocab_size").present()) { m.vocab = 50265; }
  m.sequence = std::max<std::int64_t>(1, m.max_positions - 2);
  return m;
}

ModelConfig read_gpt2(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), kVocab, 50257);
  m.hidden = read_count(in.take("n_embd"), kHidden, 768);
  m.layers = read_layers(in, "n_layer", 12);
  m.heads = m.kv_heads = read_count(in.take("n_head"), kHeads, 12);
  m.ffn = read_count(in.take("n_inner"), kFfn, 4 * m.hidden);
  m.max_positions = m.sequence = read_count(in.take("n_positions"), kSequence, 1024);
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
  m.vocab = read_count(in.take("vocab_size"), kVocab, 50272);
  m.hidden = read_count(in.take("hidden_size"), kHidden, 768);
  m.layers = read_layers(in, "num_hidden_layers", 12);
  m.heads = m.kv_heads = read_count(in.take("num_attention_heads"), kHeads, 12);
  m.ffn = read_count(in.take("ffn_dim"), kFfn, 3072);
  m.sequence = read_count(in.take("max_position_embeddings"), kSequence, 2048);
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
  if (width.present() && read_count(width, kHidden) != m.hidden) {
    width.fail(width.found(), "hidden_size = " + std::to_string(m.hidden),
               "embeddings of another width are not available yet");
  }
  set_head_dim(in, "num_attention_heads", m);
  return m;
}

/// What Llama and its kin share: rotary positions, RMS norms, a gated MLP, grouped queries.
ModelConfig read_llama_like(Reader& in, const Defaults& d) {
  ModelConfig m = read_common(in, d);
  m.family = models::Family::decoder;
  // Llama's own class takes num_attention_heads when the key is missing; the others a number.
  m.kv_heads = read_count(in.take("num_key_value_heads"), kHeads, d.kv_heads > 0 ? d.kv_heads : m.heads);
  m.head_dim = read_count(in.take("head_dim"), kHeadDim, m.head_dim);
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
  ModelConfig m = read_llama_like(in, {32000, 4096, 32, 32, 8, 14336, 4096 * 32});
  const Place window = in.take("sliding_window");
  if (window.present()) { m.sequence = std::min(m.sequence, read_count(window, kSequence)); }
  return m;
}

ModelConfig read_qwen2(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 4096, 32, 32, 32, 22016, 32768});
  m.qkv_bias = true;
  return m;
}

ModelConfig read_qwen3(Reader& in) {
  ModelConfig m = read_llama_like(in, {151936, 4096, 32, 32, 32, 22016, 32768});
  m.head_dim = read_count(in.take("head_dim"), kHeadDim, 128);
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
  m.head_dim = read_count(in.take("head_dim"), kHeadDim, 256);
  set_head_dim(in, "num_attention_heads", m);
  m.activation = Activation::geglu;  // the class ignores hidden_act in favour of tanh GELU
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  return m;
}

/// ALiBi adds constants to the scores: no position is stored.
ModelConfig read_bloom(Reader& in) {
  ModelConfig m;
  m.family = models::Family::decoder;
  m.vocab = read_count(in.take("vocab_size"), kVocab, 250880);
  const Place hidden = in.take("hidden_size");
  m.hidden = read_count(hidden.present() ? hidden : in.take("n_embed"), kHidden, 64);
  m.layers = read_layers(in, "n_layer", 2);
  m.heads = m.kv_heads = read_count(in.take("n_head"), kHeads, 8);
  m.ffn = 4 * m.hidden;
  m.sequence = read_count(in.take("seq_length"), kSequence, 2048);
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

/// "relu", "gated-gelu", "gated-silu": a gate or none, and the non-linearity.
Activation t5_activation(Reader& in) {
  const Place place = in.take("feed_forward_proj");
  const std::string written = read_text(place, "relu");
  if (written == "relu") { return Activation::relu; }
  if (written == "gelu") { return Activation::gelu; }
  if (written == "gated-gelu") { return Activation::geglu; }
  if (written == "gated-silu") { return Activation::swiglu; }
  place.fail(in_quotes(written), "one of relu, gelu, gated-gelu, gated-silu");
  return Activation::relu;
}

ModelConfig read_t5(Reader& in) {
  ModelConfig m;
  m.family = models::Family::encoder_decoder;
  m.vocab = read_count(in.take("vocab_size"), kVocab, 32128);
  m.hidden = read_count(in.take("d_model"), kHidden, 512);
  m.head_dim = read_count(in.take("d_kv"), kHeadDim, 64);
  m.ffn = read_count(in.take("d_ff"), kFfn, 2048);
  m.layers = read_layers(in, "num_layers", 6);
  m.decoder_layers = read_layers(in, "num_decoder_layers", m.layers);
  m.heads = m.kv_heads = read_count(in.take("num_heads"), kHeads, 8);
  m.relative_buckets = read_count(in.take("relative_attention_num_buckets"), {1, 1'000'000}, 32);
  m.sequence = read_count(in.take("n_positions"), kSequence, 512);
  m.positions = Positions::relative;
  m.norm = models::Norm::rms_norm;
  m.activation = t5_activation(in);
  m.dropout = m.attention_dropout = read_real(in.take("dropout_rate"), kProbability, 0.1);
  m.tied_embedding = read_flag(in.take("tie_word_embeddings"), true);
  m.bias = m.qkv_bias = false;
  m.causal = true;
  set_head_dim(in, "num_heads", m);
  return m;
}

ModelConfig read_vit(Reader& in) {
  ModelConfig m = read_common(in, {1, 768, 12, 12, 12, 3072, 1});
  m.family = models::Family::vision;
  m.vocab = 0;
  m.activation = read_activation(in, "hidden_act", "gelu", false);
  m.image = read_count(in.take("image_size"), kPixels, 224);
  m.patch = read_count(in.take("patch_size"), kPixels, 16);
  m.channels = read_count(in.take("num_channels"), kChannels, 3);
  m.qkv_bias = read_flag(in.take("qkv_bias"), true);
  m.dropout = read_real(in.take("hidden_dropout_prob"), kProbability, 0.0);
  m.attention_dropout = read_real(in.take("attention_probs_dropout_prob"), kProbability, 0.0);
  m.head = false;
  m.tied_embedding = false;
  if (architecture_has(in, "ForImageClassification")) {
    m.classes = read_labels(in);
  }
  set_patches(m);
  return m;
}

struct Type {
  std::string_view name;          // model_type
  std::string_view architecture;  // how the names of its classes begin
  ModelConfig (*read)(Reader&);
};
constexpr std::array kTypes{
    Type{"bert", "Bert", read_bert},          Type{"roberta", "Roberta", read_roberta},
    Type{"gpt2", "GPT2", read_gpt2},          Type{"opt", "OPT", read_opt},
    Type{"gpt_neox", "GPTNeoX", read_gpt_neox}, Type{"bloom", "Bloom", read_bloom}, Type{"llama", "Llama", read_llama},
    Type{"mistral", "Mistral", read_mistral}, Type{"qwen2", "Qwen2For", read_qwen2},
    Type{"qwen3", "Qwen3For", read_qwen3},    Type{"phi3", "Phi3For", read_phi3},
    Type{"gemma", "GemmaFor", read_gemma},    Type{"t5", "T5", read_t5},
    Type{"vit", "ViT", read_vit}};

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  for (const Type& type : kTypes) { names.push_back(type.name); }
  return names;
}

/// model_type, or what the architecture or the keys of older files say in its place.
std::string type_of(Reader& in) {
  const Place stated = in.take("model_type");
  if (stated.present()) { return read_text(stated); }
  for (const Type& type : kTypes) {
    if (architecture_has(in, type.architecture)) { return std::string(type.name); }
  }
  if (in.take("type_vocab_size").present()) { return "bert"; }
  if (in.take("n_embd").present()) { return "gpt2"; }
  if (in.take("d_kv").present()) { return "t5"; }
  if (in.take("patch_size").present()) { return "vit"; }
  stated.fail("nothing", "one of " + join(type_names()));
  return {};
}

/// Names what a mixture-of-experts configuration asks for; true when it is one.
bool refuse_experts(Reader& in, const std::string& type) {
  static constexpr std::array<std::string_view, 4> kExperts{"num_local_experts", "num_experts",
                                                            "n_routed_experts",
                                                            "num_routed_experts"};
  Place experts;
  for (const std::string_view key : kExperts) {
    const Place place = in.take(key);
    if (place.present()) { experts = place; }
  }
  Reader ffn(in.take("ffn_config"));
  const Place nested = ffn.take("moe_num_experts");
  if (nested.present()) { experts = nested; }
  const bool latent = in.take("kv_lora_rank").present();
  if (!experts.present() && !latent) { return false; }
  const std::string missing = std::string(experts.present() ? "mixture-of-experts layers" : "") +
                              (experts.present() && latent ? " and " : "") +
                              (latent ? "multi-head latent attention" : "");
  const Place& at = experts.present() ? experts : in.take("kv_lora_rank");
  at.fail(at.found() + " in a " + in_quotes(type) + " model", "a dense Transformer",
          missing + (experts.present() && latent ? " are" : experts.present() ? " are" : " is") +
              " not available yet");
  return true;
}

}  // namespace

ModelConfig read_hf_config(const Json& document, const Source& source) {
  Reader in(Place{&document, "", &source});
  if (!in.readable()) { return {}; }
  const std::string type = type_of(in);
  if (type.empty() || refuse_experts(in, type)) { return {}; }
  for (const Type& candidate : kTypes) {
    if (candidate.name == type) { return candidate.read(in); }
  }
  in.take("model_type").fail(in_quotes(type), "one of " + join(type_names()),
                             did_you_mean(type, type_names()));
  return {};
}

}  // namespace tsim::sim
