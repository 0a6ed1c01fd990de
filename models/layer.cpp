// One Transformer layer: attention and MLP with their norms and residuals.
#include "models/block_builder.hpp"

namespace tsim::models {
namespace {

/// A sublayer inside its norm, dropout and residual. `apply` maps what enters it to what leaves it.
template <class Apply>
TensorId with_residual(BlockBuilder& b, const std::string& name, TensorId x, Apply apply) {
  const bool pre = b.config.norm_place == NormPlace::pre;
  TensorId y = apply(pre ? add_norm(b, name + ".norm", x) : x);
  y = add_dropout(b, name + ".output_dropout", Part::residual, y, b.config.dropout);
  y = add_residual(b, name + ".residual", x, y);
  return pre ? y : add_norm(b, name + ".norm", y);
}

TensorId feed_forward(BlockBuilder& b, TensorId x, const LayerSpec& spec) {
  return spec.experts > 0 ? moe_mlp(b, x, spec.experts) : mlp(b, x, "mlp", b.config.ffn);
}

/// x + attention(norm(x)) + mlp(norm'(x)): both read the layer's input
/// [arXiv:2204.06745, sec. 2.1].
TensorId parallel_sublayers(BlockBuilder& b, TensorId x, const LayerSpec& spec) {
  TensorId attention = self_attention(b, add_norm(b, "attention.norm", x), spec);
  attention =
      add_dropout(b, "attention.output_dropout", Part::residual, attention, b.config.dropout);
  TensorId m = feed_forward(b, add_norm(b, "mlp.norm", x), spec);
  m = add_dropout(b, "mlp.output_dropout", Part::residual, m, b.config.dropout);
  return add_residual(b, "mlp.residual", add_residual(b, "attention.residual", x, attention), m);
}

/// Operations per element: polynomial, exponential and division for GELU's tanh form, sigmoid and
/// product for SiLU, the gate's product beside either.
double flops_of(Activation activation) {
  switch (activation) {
    case Activation::relu: return 1;
    case Activation::gelu: return 8;
    case Activation::swiglu: return 5;
    case Activation::geglu: return 9;
  }
  return 1;
}

}  // namespace

bool is_gated(Activation activation) {
  return activation == Activation::swiglu || activation == Activation::geglu;
}

TensorId activation_function(BlockBuilder& b, const std::string& name, Part part, TensorId x) {
  const Activation kind = b.config.activation;
  Shape shape = b.shape_of(x);
  const bool routed = has_axis(shape, Axis::gate_expert_ffn);
  const bool gated = routed || has_axis(shape, Axis::gate_ffn);
  if (gated) { shape.back() = {routed ? Axis::expert_ffn : Axis::ffn, shape.back().size / 2}; }
  const TensorId y = b.activation(name, shape);
  // ReLU's derivative follows from its result, which the next product keeps anyway.
  const TensorId kept = kind == Activation::relu ? y : x;
  b.add({.name = name,
         .kind = gated ? OpKind::gated_activation : OpKind::activation,
         .cls = OpClass::elementwise,
         .part = part,
         .space = shape,
         .flops_per_point = flops_of(kind),
         .inputs = {b.whole(x)},
         .outputs = {b.whole(y)},
         .saved = {kept}});
  return y;
}

TensorId mlp(BlockBuilder& b, TensorId x, const std::string& name, std::int64_t ffn) {
  const ModelConfig& c = b.config;
  // Gate and value columns come from one product, as in Megatron-LM.
  const Dim columns = is_gated(c.activation) ? Dim{Axis::gate_ffn, 2 * ffn} : Dim{Axis::ffn, ffn};
  const Shape rows{b.batch(), b.tokens()};
  x = add_linear(b, {.name = name + ".fc1",
                     .part = Part::mlp,
                     .input = b.whole(x),
                     .rows = rows,
                     .features = {columns},
                     .reduced = {b.hidden()},
                     .bias = c.bias});
  x = activation_function(b, name + ".activation", Part::mlp, x);
  return add_linear(b, {.name = name + ".fc2",
                        .part = Part::mlp,
                        .input = b.whole(x),
                        .rows = rows,
                        .features = {b.hidden()},
                        .reduced = {{Axis::ffn, ffn}},
                        .bias = c.bias});
}

TensorId layer_body(BlockBuilder& b, TensorId x, const LayerSpec& spec) {
  if (b.config.parallel_residual) { return parallel_sublayers(b, x, spec); }
  x = with_residual(b, "attention", x, [&](TensorId in) {
    return spec.query ? query_attention(b, in) : self_attention(b, in, spec);
  });
  if (spec.cross_attention) {
    x = with_residual(b, "cross_attention", x, [&](TensorId in) { return cross_attention(b, in); });
  }
  return with_residual(b, "mlp", x, [&](TensorId in) { return feed_forward(b, in, spec); });
}

OpGraph layer(BlockBuilder b, const LayerSpec& spec) {
  Shape entering = b.stream();
  if (spec.merges > 0) {
    entering = {b.batch(), {Axis::sequence, 4 * b.sequence}, {Axis::hidden, spec.merges}};
  }
  b.graph.input = b.activation("input", entering);
  if (spec.cross_attention) {
    b.graph.memory =
        b.activation("memory", {b.batch(), {Axis::key_sequence, b.memory_sequence}, b.hidden()});
  }
  TensorId x = b.graph.input;
  if (spec.merges > 0) { x = merge_patches(b, x, spec.merges); }
  if (spec.query && b.config.final_norm) { x = add_norm(b, "final.norm", x); }
  b.graph.output = layer_body(b, x, spec);
  return topologically_sorted(std::move(b.graph));
}

}  // namespace tsim::models
