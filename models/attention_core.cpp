#include "models/attention_core.hpp"

namespace tsim::models {
namespace {

Dim heads(const BlockBuilder& b) { return {Axis::heads, b.config.heads}; }
Dim keys(const Operand& key) { return {Axis::key_sequence, key.shape[1].size}; }

/// [batch, sequence, heads, head_dim] of the values.
Shape context_shape(const BlockBuilder& b, const Heads& h) {
  return {b.batch(), b.tokens(), heads(b), h.value.shape.back()};
}

/// Columns that the weighted sum takes for each that the scores take.
double value_share(const Heads& h) {
  return static_cast<double>(h.value.shape.back().size) /
         static_cast<double>(h.key.shape.back().size);
}

/// A causal mask skips the tiles above the diagonal: of s queries behind c tokens, the i-th looks
/// at c + i of c + s keys; without these (1 + 1/s)/2 of the points.
double causal_share(const BlockBuilder& b, std::int64_t keys) {
  const auto before = static_cast<double>(keys - b.sequence);
  return (before + (static_cast<double>(b.sequence) + 1) / 2) / static_cast<double>(keys);
}

/// Keys that model FLOPs count for each one that is there: of a slice, those after it, too.
double counted_keys(const BlockBuilder& b, std::int64_t keys) {
  return b.options.sample > 0 ? static_cast<double>(b.options.sample) / static_cast<double>(keys)
                              : 1.0;
}

/// One kernel that never writes the scores; for the backward it keeps its operands, its result and
/// one number per row [arXiv:2205.14135, alg. 1]. Masks are drawn again from their seed.
TensorId add_flash_attention(BlockBuilder& b, const CoreSpec& spec, const Heads& h) {
  const TensorId y = b.activation(spec.name + ".context", context_shape(b, h));
  const TensorId lse = b.tensor(spec.name + ".logsumexp", {b.batch(), heads(b), b.tokens()},
                                Role::statistic, DType::fp32);
  const std::int64_t key_count = keys(h.key).size;
  const double counted = counted_keys(b, key_count);
  Op op{.name = spec.name + ".flash",
        .kind = OpKind::flash_attention,
        .cls = OpClass::contraction,
        .part = Part::attention_core,
        .space = {b.batch(), heads(b), b.tokens(), keys(h.key), h.key.shape.back()},
        .reduced = 2,
        .flops_per_point = 2 * counted * (1 + value_share(h)),  // scores and weighted sum
        .executed = (spec.causal ? causal_share(b, key_count) : 1.0) / counted,
        .inputs = {h.query, h.key, h.value},
        .outputs = {b.whole(y), b.whole(lse)},
        .saved = {h.query.tensor, y, lse}};
  for (const TensorId t : {h.key.tensor, h.value.tensor}) {
    if (t != op.saved.front()) { op.saved.push_back(t); }
  }
  if (spec.position_bias >= 0) { op.inputs.push_back(b.whole(spec.position_bias)); }
  b.add(std::move(op));
  return y;
}

/// An attention mask is causal (one for all samples) or covers the padding of each sample. It is
/// an index: no gradient, and the framework keeps it once for the whole model.
TensorId add_mask(BlockBuilder& b, const CoreSpec& spec, TensorId x, Dim key) {
  const Shape shape = spec.causal ? Shape{b.tokens(), key} : Shape{b.batch(), key};
  const TensorId mask = b.tensor(spec.name + ".mask_bits", shape, Role::index, DType::bool8);
  const TensorId y =
      add_elementwise(b, {spec.name + ".mask", OpKind::mask, Part::attention_core, 1}, x);
  b.graph.ops.back().inputs.push_back(b.whole(mask));
  return y;
}

/// Scores after scale and mask, or after T5's position bias: it neither scales its scores nor masks
/// them apart [arXiv:1910.10683, sec. 2.1].
TensorId add_score_terms(BlockBuilder& b, const CoreSpec& spec, TensorId x, Dim key) {
  if (spec.position_bias >= 0) {
    const Elementwise add{spec.name + ".position_bias", OpKind::bias, Part::attention_core, 1};
    const TensorId y = add_elementwise(b, add, x);
    b.graph.ops.back().inputs.push_back(b.whole(spec.position_bias));
    return y;
  }
  if (b.config.positions != Positions::relative) {
    x = add_elementwise(b, {spec.name + ".scale", OpKind::scale, Part::attention_core, 1}, x);
  }
  const bool masked = spec.causal || b.config.family != Family::vision;
  return masked ? add_mask(b, spec, x, key) : x;
}

TensorId add_softmax(BlockBuilder& b, const CoreSpec& spec, TensorId x) {
  const TensorId y = b.activation(spec.name + ".softmax", b.shape_of(x));
  b.add({.name = spec.name + ".softmax",
         .kind = OpKind::softmax,
         .cls = OpClass::normalization,
         .part = Part::attention_core,
         .space = b.shape_of(x),
         .reduced = 1,
         .flops_per_point = 4,  // maximum and its subtraction, exponential, sum, division: 4 to 5
         .inputs = {b.whole(x)},
         .outputs = {b.whole(y)},
         .saved = {y}});
  return y;
}

/// A product of two activations, batched over samples and heads.
struct HeadProduct {
  std::string name;
  Operand left, right;
  Shape shape;  // of the result
  Dim summed;
  double counted = 1;  // see counted_keys()
};
TensorId add_head_product(BlockBuilder& b, const HeadProduct& p) {
  const TensorId y = b.activation(p.name, p.shape);
  Op op{.name = p.name,
        .kind = OpKind::attention_matmul,
        .cls = OpClass::contraction,
        .part = Part::attention_core,
        .space = joined(p.shape, {p.summed}),
        .reduced = 1,
        .flops_per_point = 2 * p.counted,
        .executed = 1 / p.counted,
        .inputs = {p.left, p.right},
        .outputs = {b.whole(y)},
        .saved = {p.left.tensor}};
  if (p.right.tensor != p.left.tensor) { op.saved.push_back(p.right.tensor); }
  b.add(std::move(op));
  return y;
}

}  // namespace

TensorId add_core(BlockBuilder& b, const CoreSpec& spec, const Heads& h) {
  if (b.options.flash_attention) { return add_flash_attention(b, spec, h); }
  const Dim key = keys(h.key);
  TensorId x = add_head_product(b, {.name = spec.name + ".scores",
                                    .left = h.query,
                                    .right = h.key,
                                    .shape = {b.batch(), heads(b), b.tokens(), key},
                                    .summed = h.key.shape.back(),
                                    .counted = counted_keys(b, key.size)});
  x = add_score_terms(b, spec, x, key);
  x = add_softmax(b, spec, x);
  x = add_dropout(b, spec.name + ".dropout", Part::attention_core, x, b.config.attention_dropout);
  return add_head_product(b, {.name = spec.name + ".context",
                              .left = b.whole(x),
                              .right = h.value,
                              .shape = context_shape(b, h),
                              .summed = key,
                              .counted = counted_keys(b, key.size)});
}

TensorId add_projection(BlockBuilder& b, const std::string& name, TensorId context) {
  return add_linear(b, {.name = name + ".projection",
                        .part = Part::attention,
                        .input = b.whole(context),
                        .rows = {b.batch(), b.tokens()},
                        .features = {b.hidden()},
                        .reduced = {heads(b), b.shape_of(context).back()},
                        .bias = b.config.bias});
}

}  // namespace tsim::models
