// Attention inside squares of tokens, and the merging of tokens between stages
// [arXiv:2103.14030, sec. 3].
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/attention_core.hpp"

namespace tsim::models {
namespace {

/// Tokens of a window: a whole image that is smaller is one.
std::int64_t window_tokens(const BlockBuilder& b) {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(b.sequence)));
  const std::int64_t window = std::min(b.config.window, side);
  return window * window;
}

/// Distances between two tokens of a window, (2w - 1)^2 of them.
Dim distances(std::int64_t tokens) {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(tokens)));
  return {Axis::positions, (2 * side - 1) * (2 * side - 1)};
}

/// Tokens in another order, copied.
TensorId reordered(BlockBuilder& b, const std::string& name, TensorId x) {
  return add_elementwise(b, {name, OpKind::reshape, Part::attention, 0}, x);
}

/// A small MLP from the logarithm of each distance to one number a head
/// [arXiv:2111.09883, sec. 3.3].
Operand made_distances(BlockBuilder& b, Dim rows) {
  const Dim heads{Axis::heads, b.config.heads};
  const Dim inner{Axis::pooled, b.config.position_mlp};
  const Dim both{Axis::types, 2};
  const TensorId coordinates =
      b.tensor("attention.coordinates", {rows, both}, Role::index, DType::fp32);
  TensorId x = add_linear(b, {.name = "attention.positions1",
                              .part = Part::attention,
                              .input = b.whole(coordinates),
                              .rows = {rows},
                              .features = {inner},
                              .reduced = {both},
                              .bias = true,
                              .input_needs_gradient = false});
  x = add_elementwise(b, {"attention.positions_relu", OpKind::activation, Part::attention, 1}, x);
  b.graph.ops.back().saved.push_back(x);
  return b.whole(add_linear(b, {.name = "attention.positions2",
                                .part = Part::attention,
                                .input = b.whole(x),
                                .rows = {rows},
                                .features = {heads},
                                .reduced = {inner}}));
}

/// What is added to the scores of two tokens: looked up by their distance.
TensorId window_positions(BlockBuilder& b, std::int64_t tokens) {
  const Dim heads{Axis::heads, b.config.heads};
  const Dim rows = distances(tokens);
  const Shape shape{heads, {Axis::sequence, tokens}, {Axis::key_sequence, tokens}};
  const bool made = b.config.position_mlp > 0;
  const Operand table = made ? made_distances(b, rows)
                             : b.whole(b.weight("attention.positions.weight", {rows, heads}));
  const TensorId bucket = b.index("attention.distances", {shape[1], shape[2]});
  const TensorId y = b.activation("attention.positions", shape);
  Op op{.name = "attention.positions",
        .kind = made ? OpKind::reshape : OpKind::embedding,
        .cls = OpClass::elementwise,
        .part = Part::attention,
        .space = shape,
        .flops_per_point = 0,
        .inputs = {b.whole(bucket)},
        .outputs = {b.whole(y)},
        .saved = {bucket},
        .input_needs_gradient = made};
  (made ? op.inputs : op.weights).push_back(table);
  if (made) { std::swap(op.inputs.front(), op.inputs.back()); }
  b.add(std::move(op));
  return y;
}

}  // namespace

TensorId windowed_attention(BlockBuilder& b, TensorId x) {
  const ModelConfig& c = b.config;
  const std::int64_t tokens = window_tokens(b);
  const Dim heads{Axis::heads, c.heads};
  const Dim dim{Axis::head_dim, c.head_dim};
  const TensorId qkv = add_linear(b, {.name = "attention.qkv",
                                      .part = Part::attention,
                                      .input = b.whole(reordered(b, "attention.partition", x)),
                                      .rows = {b.batch(), b.tokens()},
                                      .features = {{Axis::qkv, 3 * c.heads}, dim},
                                      .reduced = {b.hidden()},
                                      .bias = c.qkv_bias});
  const TensorId positions = window_positions(b, tokens);
  // Every window is a sample of its own to the products between activations.
  BuildOptions options = b.options;
  options.micro_batch *= b.sequence / tokens;
  BlockBuilder window{.config = c,
                      .options = options,
                      .sequence = tokens,
                      .memory_sequence = 0,
                      .graph = std::move(b.graph)};
  const Dim keys{Axis::key_sequence, tokens};
  const Operand query{qkv, {window.batch(), window.tokens(), heads, dim}};
  const Operand key{qkv, {window.batch(), keys, {Axis::kv_heads, c.heads}, dim}};
  const CoreSpec core{.name = "attention", .causal = false, .position_bias = positions};
  const TensorId context = add_core(window, core, {query, key, key});
  b.graph = std::move(window.graph);
  return reordered(b, "attention.reverse", add_projection(b, core.name, context));
}

TensorId merge_patches(BlockBuilder& b, TensorId x, std::int64_t width) {
  const Dim four{Axis::hidden, 4 * width};
  const TensorId squares = b.activation("merge.squares", {b.batch(), b.tokens(), four});
  b.add({.name = "merge.squares",
         .kind = OpKind::reshape,
         .cls = OpClass::elementwise,
         .part = Part::embedding,
         .space = b.shape_of(squares),
         .flops_per_point = 0,
         .inputs = {b.whole(x)},
         .outputs = {b.whole(squares)}});
  const TensorId normed = add_norm(b, "merge.norm", squares);
  return add_linear(b, {.name = "merge",
                        .part = Part::embedding,
                        .input = b.whole(normed),
                        .rows = {b.batch(), b.tokens()},
                        .features = {b.hidden()},
                        .reduced = {four}});
}

}  // namespace tsim::models
