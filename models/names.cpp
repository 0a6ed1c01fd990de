// Words for the enumerators of this room, as scenarios and reports spell them.
#include <array>
#include <cassert>
#include <string_view>

#include "models/kernel.hpp"
#include "models/model.hpp"
#include "models/op_graph.hpp"
#include "models/routing/routing.hpp"

namespace tsim::models {
namespace {

using std::string_view_literals::operator""sv;

template <class Enum, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  assert(i < N);
  return words[i];
}

}  // namespace

std::string_view name_of(Axis axis) {
  static constexpr std::array kWords{
      "batch"sv,  "sequence"sv,  "key_sequence"sv, "hidden"sv,      "qkv"sv,
      "heads"sv,  "kv_heads"sv,  "head_dim"sv,     "ffn"sv,         "gate_ffn"sv,
      "vocab"sv,  "positions"sv, "types"sv,        "patch"sv,       "classes"sv,
      "pooled"sv, "expert"sv,    "slots"sv,        "expert_ffn"sv,  "gate_expert_ffn"sv,
      "routes"sv, "q_rank"sv,    "kv_rank"sv,      "adapter_rank"sv};
  return word(kWords, axis);
}

std::string_view name_of(OpClass c) {
  static constexpr std::array kWords{"contraction"sv, "normalization"sv, "elementwise"sv};
  return word(kWords, c);
}

std::string_view name_of(OpKind kind) {
  static constexpr std::array kWords{"matmul"sv,
                                     "attention_matmul"sv,
                                     "flash_attention"sv,
                                     "softmax"sv,
                                     "layer_norm"sv,
                                     "rms_norm"sv,
                                     "cross_entropy"sv,
                                     "bias"sv,
                                     "scale"sv,
                                     "mask"sv,
                                     "dropout"sv,
                                     "activation"sv,
                                     "gated_activation"sv,
                                     "residual_add"sv,
                                     "rotary"sv,
                                     "embedding"sv,
                                     "cast"sv,
                                     "reshape"sv,
                                     "top_k"sv,
                                     "dispatch"sv,
                                     "combine"sv,
                                     "grouped_matmul"sv,
                                     "optimizer"sv};
  return word(kWords, kind);
}

std::string_view name_of(Part part) {
  static constexpr std::array kWords{"embedding"sv, "norm"sv,     "attention"sv, "attention_core"sv,
                                     "mlp"sv,       "residual"sv, "head"sv,      "loss"sv,
                                     "router"sv,    "dispatch"sv, "experts"sv,   "combine"sv};
  return word(kWords, part);
}

std::string_view name_of(Fusion fusion) {
  static constexpr std::array kWords{"none"sv, "framework"sv, "full"sv};
  return word(kWords, fusion);
}

std::string_view name_of(Family family) {
  static constexpr std::array kWords{"encoder"sv, "decoder"sv, "encoder_decoder"sv, "vision"sv};
  return word(kWords, family);
}

std::string_view name_of(Norm norm) {
  static constexpr std::array kWords{"layer_norm"sv, "rms_norm"sv};
  return word(kWords, norm);
}

std::string_view name_of(NormPlace place) {
  static constexpr std::array kWords{"pre"sv, "post"sv};
  return word(kWords, place);
}

std::string_view name_of(Activation activation) {
  static constexpr std::array kWords{"gelu"sv, "relu"sv, "swiglu"sv, "geglu"sv};
  return word(kWords, activation);
}

std::string_view name_of(Positions positions) {
  static constexpr std::array kWords{"learned"sv, "rotary"sv, "sinusoidal"sv, "relative"sv,
                                     "none"sv};
  return word(kWords, positions);
}

std::string_view name_of(RouterScoring scoring) {
  static constexpr std::array kWords{"softmax"sv, "sigmoid"sv};
  return word(kWords, scoring);
}

std::string_view name_of(RoutingKind kind) {
  static constexpr std::array kWords{"dropless"sv, "top_k_capacity"sv, "expert_choice"sv,
                                     "batch_priority"sv, "node_limited"sv};
  return word(kWords, kind);
}

std::string_view name_of(RoutingLoad load) {
  static constexpr std::array kWords{"uniform"sv, "zipf"sv, "histogram"sv, "trace"sv};
  return word(kWords, load);
}

std::string_view name_of(BlockKind kind) {
  static constexpr std::array kWords{"embedding"sv, "layer"sv, "decoder_layer"sv,
                                     "decoder_embedding"sv, "head"sv};
  return word(kWords, kind);
}

}  // namespace tsim::models
