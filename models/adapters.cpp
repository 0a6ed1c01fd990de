#include "models/adapters.hpp"

#include <algorithm>
#include <utility>

namespace tsim::models {
namespace {

/// Elements of `x` dropped before A.
Operand add_input_dropout(BlockBuilder& b, const Linear& linear) {
  if (!b.options.dropout || b.config.lora.dropout <= 0) { return linear.input; }
  const std::string name = linear.name + ".lora_dropout";
  const Shape& shape = linear.input.shape;
  const TensorId y = b.activation(name, shape);
  const TensorId mask = b.tensor(name + ".mask", shape, Role::mask, DType::bool8);
  b.add({.name = name,
         .kind = OpKind::dropout,
         .cls = OpClass::elementwise,
         .part = linear.part,
         .space = shape,
         .flops_per_point = 1,
         .inputs = {linear.input},
         .outputs = {b.whole(y), b.whole(mask)},
         .saved = {mask},
         .input_needs_gradient = linear.input_needs_gradient});
  return b.whole(y);
}

Tensor& tensor_of(OpGraph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

/// Whether what the operator keeps is for the gradient of its weight alone.
bool keeps_for_weight(const Op& op) {
  return is_weight_product(op.kind) || op.kind == OpKind::embedding || op.kind == OpKind::bias;
}

/// Weights that are not an adapter's, and what another block made of such: T5's relative positions.
bool is_given(const OpGraph& graph, TensorId id) {
  const Tensor& t = graph.tensors[static_cast<std::size_t>(id)];
  if (t.role == Role::weight) { return !has_axis(t.shape, Axis::adapter_rank); }
  return t.role == Role::activation && t.producer == kNoOp && id != graph.input &&
         id != graph.memory;
}

}  // namespace

bool is_adaptable(const Linear& linear) {
  const bool of_tokens = has_axis(linear.rows, Axis::batch) && linear.groups.empty();
  const bool in_layer = linear.part == Part::attention || linear.part == Part::mlp;
  return in_layer && of_tokens && !has_axis(linear.features, Axis::routes);
}

bool has_adapter(const ModelConfig& config, const Linear& linear) {
  const LoraConfig& lora = config.lora;
  if (lora.rank == 0 || linear.adapter || !is_adaptable(linear)) { return false; }
  return lora.targets.empty() || std::ranges::find(lora.targets, linear.name) != lora.targets.end();
}

TensorId add_adapter(BlockBuilder& b, const Linear& linear, TensorId y) {
  const Dim rank{Axis::adapter_rank, b.config.lora.rank};
  const Operand x = add_input_dropout(b, linear);
  const TensorId down = add_linear(b, {.name = linear.name + ".lora_a",
                                       .part = linear.part,
                                       .input = x,
                                       .rows = linear.rows,
                                       .features = {rank},
                                       .reduced = linear.reduced,
                                       .input_needs_gradient = linear.input_needs_gradient,
                                       .adapter = true});
  const TensorId up = add_linear(b, {.name = linear.name + ".lora_b",
                                     .part = linear.part,
                                     .input = b.whole(down),
                                     .rows = linear.rows,
                                     .features = linear.features,
                                     .reduced = {rank},
                                     .adapter = true});
  const TensorId scaled =
      add_elementwise(b, {linear.name + ".lora_scale", OpKind::scale, linear.part, 1}, up);
  const TensorId sum = b.activation(linear.name + ".lora_sum", b.shape_of(y));
  b.add({.name = linear.name + ".lora_sum",
         .kind = OpKind::residual_add,
         .cls = OpClass::elementwise,
         .part = linear.part,
         .space = b.shape_of(y),
         .flops_per_point = 1,
         .inputs = {b.whole(y), b.whole(scaled)},
         .outputs = {b.whole(sum)}});
  return sum;
}

OpGraph freeze(OpGraph graph) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    graph.tensors[i].frozen = is_given(graph, static_cast<TensorId>(i));
  }
  for (Op& op : graph.ops) {
    const auto trained = [&](const Operand& o) { return !tensor_of(graph, o.tensor).frozen; };
    const auto has_gradient = [&](const Operand& o) {
      return trained(o) && tensor_of(graph, o.tensor).role == Role::activation;
    };
    const bool of_weight = std::ranges::any_of(op.weights, trained);
    const bool of_input = op.input_needs_gradient && std::ranges::any_of(op.inputs, has_gradient);
    if (!of_weight && !op.weights.empty() && keeps_for_weight(op)) { op.saved.clear(); }
    if (of_weight || of_input) { continue; }
    op.input_needs_gradient = false;
    op.saved.clear();
    for (const Operand& out : op.outputs) { tensor_of(graph, out.tensor).frozen = true; }
  }
  return graph;
}

}  // namespace tsim::models
