#include "sim/input/models/read_model_fields.hpp"

#include <algorithm>
#include <array>

#include "sim/input/models/read_lora.hpp"
#include "sim/input/models/read_moe_fields.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::sim {
namespace {

using models::ModelConfig;

constexpr std::array kFamilies{models::Family::encoder, models::Family::decoder,
                               models::Family::encoder_decoder, models::Family::vision};
constexpr std::array kNorms{models::Norm::layer_norm, models::Norm::rms_norm};
constexpr std::array kNormPlaces{models::NormPlace::pre, models::NormPlace::post};
constexpr std::array kActivations{models::Activation::gelu, models::Activation::relu,
                                  models::Activation::swiglu, models::Activation::geglu};
constexpr std::array kPositions{models::Positions::learned, models::Positions::rotary,
                                models::Positions::sinusoidal, models::Positions::relative,
                                models::Positions::none};
constexpr std::int64_t kT5Buckets = 32;  // [arXiv:1910.10683, sec. 2.1]
constexpr RealRange kProbability{.least = 0.0, .most = 1.0};

/// `value` where a base exists, else nothing: the key is then required.
template <class T>
std::optional<T> base_or_required(const ModelConfig* base, T value) {
  return base != nullptr ? std::optional<T>(value) : std::nullopt;
}

void read_width(Reader& in, ModelConfig& m, const ModelConfig* base) {
  m.hidden = read_count(in.take("hidden"), limits::kHidden, base_or_required(base, m.hidden));
  m.heads = read_count(in.take("heads"), limits::kHeads, base_or_required(base, m.heads));
  const bool own_kv = base != nullptr && base->kv_heads != base->heads;
  m.kv_heads = read_count(in.take("kv_heads"), limits::kHeads, own_kv ? m.kv_heads : m.heads);
  const bool own_dim = base != nullptr && base->head_dim * base->heads != base->hidden;
  const Place head_dim = in.take("head_dim");
  const bool latent = m.latent.kv_lora_rank > 0;
  const std::int64_t of_latent = m.latent.qk_nope_head_dim + m.latent.qk_rope_head_dim;
  const std::int64_t usual = own_dim ? m.head_dim : m.hidden / m.heads;
  m.head_dim = read_count(head_dim, limits::kHeadDim, latent ? of_latent : usual);
  if (!latent && !head_dim.present() && !own_dim && m.hidden % m.heads != 0) {
    in.take("heads").fail(std::to_string(m.heads),
                          "a divisor of hidden = " + std::to_string(m.hidden), "or give head_dim");
  }
  if (m.heads * m.head_dim > limits::kAttentionWidth) {
    in.take("heads").fail("heads * head_dim = " + std::to_string(m.heads * m.head_dim),
                          "at most " + std::to_string(limits::kAttentionWidth));
  }
  const bool own_ffn = base != nullptr && base->ffn != 4 * base->hidden;
  m.ffn = read_count(in.take("ffn"), limits::kFfn, own_ffn ? m.ffn : 4 * m.hidden);
}

/// Widths by stage; what they say of the first and of all are then the model's. True if there are
/// any.
bool read_stages(const Place& place, ModelConfig& m) {
  if (!place.present()) { return false; }
  m.stages.clear();
  m.layers = 0;
  for (const Place& entry : read_entries(place)) {
    Reader in(entry);
    models::VisionStage stage;
    stage.layers = static_cast<int>(read_count(in.take("layers"), limits::kLayers));
    stage.hidden = read_count(in.take("hidden"), limits::kHidden);
    stage.heads = read_count(in.take("heads"), limits::kHeads);
    stage.ffn = read_count(in.take("ffn"), limits::kFfn, 4 * stage.hidden);
    in.finish();
    m.layers += stage.layers;
    m.stages.push_back(stage);
  }
  if (m.stages.empty()) {
    place.fail("an empty list", "stages, each with layers, hidden and heads");
    return false;
  }
  const models::VisionStage& first = m.stages.front();
  m.hidden = first.hidden;
  m.heads = m.kv_heads = first.heads;
  m.head_dim = first.hidden / first.heads;
  m.ffn = first.ffn;
  return true;
}

void read_depth(Reader& in, ModelConfig& m, const ModelConfig* base) {
  m.layers =
      static_cast<int>(read_count(in.take("layers"), limits::kLayers,
                                  base_or_required(base, static_cast<std::int64_t>(m.layers))));
  if (m.family == models::Family::encoder_decoder) {
    const bool own = base != nullptr && base->decoder_layers != base->layers;
    m.decoder_layers = static_cast<int>(
        read_count(in.take("decoder_layers"), limits::kLayers, own ? m.decoder_layers : m.layers));
  }
}

void read_image(Reader& in, ModelConfig& m, const ModelConfig* base) {
  m.image = read_count(in.take("image"), limits::kPixels, base_or_required(base, m.image));
  m.patch = read_count(in.take("patch"), limits::kPixels, base_or_required(base, m.patch));
  m.channels = read_count(in.take("channels"), limits::kChannels, base != nullptr ? m.channels : 3);
  m.vocab = 0;
  set_patches(m);
}

void read_text_tables(Reader& in, ModelConfig& m, const ModelConfig* base) {
  m.vocab = read_count(in.take("vocab"), limits::kVocab, base_or_required(base, m.vocab));
  const Place sequence = in.take("sequence");
  const Place positions = in.take("max_positions");
  m.sequence = read_count(sequence, limits::kSequence, base != nullptr ? m.sequence : 0);
  m.max_positions = read_count(positions, limits::kSequence, base != nullptr ? m.max_positions : 0);
  if (m.sequence == 0) { m.sequence = m.max_positions; }
  const bool learned = m.positions == models::Positions::learned;
  if (learned && m.max_positions == 0) { m.max_positions = m.sequence; }
}

void read_tables(Reader& in, ModelConfig& m, const ModelConfig* base) {
  if (m.family == models::Family::vision) {
    read_image(in, m, base);
  } else {
    read_text_tables(in, m, base);
  }
  m.classes = read_count(in.take("classes"), {0, limits::kVocab.most}, m.classes);
  m.types = read_count(in.take("types"), {0, 10'000}, m.types);
  const bool relative = m.positions == models::Positions::relative;
  const std::int64_t buckets =
      relative && m.relative_buckets == 0 ? kT5Buckets : m.relative_buckets;
  m.relative_buckets =
      read_count(in.take("relative_buckets"), {0, 1'000'000}, relative ? buckets : 0);
}

void read_kinds(Reader& in, ModelConfig& m, const ModelConfig* base) {
  using models::Family;
  m.family = read_choice<Family>(in.take("family"), kFamilies, base_or_required(base, m.family));
  m.norm = read_choice<models::Norm>(in.take("norm"), kNorms, m.norm);
  m.norm_place = read_choice<models::NormPlace>(in.take("norm_place"), kNormPlaces, m.norm_place);
  m.activation = read_choice<models::Activation>(in.take("activation"), kActivations, m.activation);
  m.positions = read_choice<models::Positions>(in.take("positions"), kPositions, m.positions);
  if (base == nullptr) {
    m.causal = m.family == Family::decoder || m.family == Family::encoder_decoder;
    m.head = m.family != Family::vision;
    m.tied_embedding = m.head;
  }
}

void read_flags(Reader& in, ModelConfig& m) {
  const auto flag = [&](std::string_view key, bool& value) {
    value = read_flag(in.take(key), value);
  };
  flag("bias", m.bias);
  m.qkv_bias = read_flag(in.take("qkv_bias"), m.qkv_bias);
  flag("causal", m.causal);
  flag("parallel_residual", m.parallel_residual);
  flag("final_norm", m.final_norm);
  flag("tied_embedding", m.tied_embedding);
  flag("head", m.head);
  flag("head_transform", m.head_transform);
  flag("head_bias", m.head_bias);
  flag("pooler", m.pooler);
  flag("embedding_norm", m.embedding_norm);
  flag("qk_norm", m.qk_norm);
  flag("query_layer", m.query_layer);
  m.dropout = read_real(in.take("dropout"), kProbability, m.dropout);
  m.attention_dropout = read_real(in.take("attention_dropout"), kProbability, m.attention_dropout);
}

}  // namespace

void set_patches(ModelConfig& model) {
  model.sequence = image_tokens(model);
  model.max_positions = model.positions == models::Positions::learned ? model.sequence : 0;
}

ModelConfig read_model_fields(Reader& in, const ModelConfig* base) {
  ModelConfig m = base != nullptr ? *base : ModelConfig{};
  m.name = read_text(in.take("name"), base != nullptr ? m.name + ", changed" : "inline model");
  m.source = read_text(in.take("source"), base != nullptr ? m.source : "the scenario");
  read_kinds(in, m, base);
  const bool staged = read_stages(in.take("stages"), m);
  const ModelConfig of_stages = m;
  if (staged) { base = &of_stages; }
  if (staged && !in.take("positions").present()) { m.positions = models::Positions::none; }
  m.window = read_count(in.take("window"), limits::kPixels, m.window);
  m.position_mlp =
      read_count(in.take("position_mlp"), {.least = 0, .most = 1'000'000}, m.position_mlp);
  read_depth(in, m, base);
  read_latent(in.take("latent"), m.latent);
  read_width(in, m, base);
  read_moe(in.take("moe"), m);
  m.mtp_layers =
      static_cast<int>(read_count(in.take("mtp_layers"), {.least = 0, .most = 16}, m.mtp_layers));
  read_lora(in.take("lora"), m.lora);
  read_tables(in, m, base);
  read_flags(in, m);
  return m;
}

}  // namespace tsim::sim
