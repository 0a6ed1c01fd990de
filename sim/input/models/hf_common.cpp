#include "sim/input/models/hf_common.hpp"

#include <algorithm>
#include <array>

#include "sim/input/read_model.hpp"

namespace tsim::sim::hf {

using models::Activation;
using models::ModelConfig;

Activation read_activation(Reader& in, std::string_view key, std::string_view fallback,
                           bool gated) {
  static constexpr std::array<std::string_view, 9> kNames{
      "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "gelu_10",
      "silu", "swish",    "relu"};
  const Place place = in.take(key);
  std::string_view name = fallback;
  if (place.present()) { name = kNames[read_choice(place, kNames)]; }
  const bool silu = name == "silu" || name == "swish";
  if (gated) { return silu ? Activation::swiglu : Activation::geglu; }
  return name == "relu" ? Activation::relu : Activation::gelu;
}

int read_layers(Reader& in, std::string_view key, std::int64_t fallback) {
  return static_cast<int>(read_count(in.take(key), limits::kLayers, fallback));
}

std::int64_t read_labels(Reader& in) {
  const Place labels = in.take("id2label");
  const Place number = in.take("num_labels");
  if (labels.present() && labels.value->is_object()) {
    return static_cast<std::int64_t>(labels.value->size());
  }
  return read_count(number, limits::kVocab, 2);
}

bool architecture_has(Reader& in, std::string_view part) {
  const std::vector<Place> names = read_entries(in.take("architectures"));
  return std::any_of(names.begin(), names.end(), [&](const Place& place) {
    return read_text(place).find(part) != std::string::npos;
  });
}

void set_head_dim(Reader& in, std::string_view heads_key, ModelConfig& m) {
  if (m.head_dim == 0) { m.head_dim = m.hidden / m.heads; }
  if (m.head_dim == 0 || m.heads * m.head_dim > limits::kAttentionWidth) {
    in.take(heads_key).fail(
        std::to_string(m.heads) + " heads of " + std::to_string(m.head_dim),
        "a head size >= 1 and a width of at most " + std::to_string(limits::kAttentionWidth));
    m.head_dim = 1;
  }
}

ModelConfig read_common(Reader& in, const Defaults& d) {
  ModelConfig m;
  m.vocab = read_count(in.take("vocab_size"), limits::kVocab, d.vocab);
  m.hidden = read_count(in.take("hidden_size"), limits::kHidden, d.hidden);
  m.layers = read_layers(in, "num_hidden_layers", d.layers);
  m.heads = read_count(in.take("num_attention_heads"), limits::kHeads, d.heads);
  m.ffn = read_count(in.take("intermediate_size"), limits::kFfn, d.ffn);
  m.max_positions = read_count(in.take("max_position_embeddings"), limits::kSequence, d.positions);
  m.sequence = m.max_positions;
  m.kv_heads = m.heads;
  set_head_dim(in, "num_attention_heads", m);
  return m;
}

}  // namespace tsim::sim::hf
