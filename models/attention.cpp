// Self-, cross- and query attention as operators.
#include "models/block_builder.hpp"

namespace tsim::models {
namespace {

/// Queries, keys and values as the products see them.
struct Heads {
  Operand query, key, value;
};

/// What differs between kinds of attention inside their core.
struct CoreSpec {
  std::string name;  // prefix of the operators
  bool causal = false;
  TensorId position_bias = -1;  // added to the scores, the mask already in it
};

Dim head_dim(const BlockBuilder& b) { return {Axis::head_dim, b.config.head_dim}; }
Dim heads(const BlockBuilder& b) { return {Axis::heads, b.config.heads}; }
Dim kv_heads(const BlockBuilder& b) { return {Axis::kv_heads, b.config.kv_heads}; }
Dim keys(const Operand& key) { return {Axis::key_sequence, key.shape[1].size}; }

/// The parts of a fused projection's output that are rotated or normalised: queries and keys.
std::vector<Operand> queries_and_keys(const BlockBuilder& b, TensorId qkv) {
  return {{qkv, {b.batch(), b.tokens(), heads(b), head_dim(b)}},
          {qkv, {b.batch(), b.tokens(), kv_heads(b), head_dim(b)}}};
}

/// Elements of queries and keys per element of queries, keys and values.
double rotated_share(const ModelConfig& c) {
  return static_cast<double>(c.heads + c.kv_heads) / static_cast<double>(c.heads + 2 * c.kv_heads);
}

/// Norms of every query and key head, in place beside the values [arXiv:2505.09388, sec. 2].
TensorId add_qk_norm(BlockBuilder& b, TensorId qkv) {
  const Shape shape = b.shape_of(qkv);
  const TensorId y = b.activation("attention.qk_norm", shape);
  const TensorId rstd = b.tensor("attention.qk_norm.rstd", {shape.begin(), shape.end() - 1},
                                 Role::statistic, DType::fp32);
  const TensorId q_weight = b.weight("attention.q_norm.weight", {head_dim(b)});
  const TensorId k_weight = b.weight("attention.k_norm.weight", {head_dim(b)});
  Op op{.name = "attention.qk_norm",
        .kind = OpKind::rms_norm,
        .cls = OpClass::normalization,
        .part = Part::attention,
        .space = shape,
        .reduced = 1,
        .flops_per_point = 4 * rotated_share(b.config),
        .inputs = queries_and_keys(b, qkv),
        .weights = {b.whole(q_weight), b.whole(k_weight)},
        .outputs = queries_and_keys(b, y),
        .saved = {qkv, rstd}};
  op.outputs.push_back(b.whole(rstd));
  b.add(std::move(op));
  return y;
}

/// Rotary positions of queries and keys, in place beside the values: a rotation is undone by the
/// angles alone, so nothing is kept [arXiv:2104.09864, eq. 34].
TensorId add_rotary(BlockBuilder& b, TensorId qkv) {
  const TensorId y = b.activation("attention.rotary", b.shape_of(qkv));
  b.add({.name = "attention.rotary",
         .kind = OpKind::rotary,
         .cls = OpClass::elementwise,
         .part = Part::attention,
         .space = b.shape_of(qkv),
         .flops_per_point = 3 * rotated_share(b.config),  // two products and a sum
         .inputs = queries_and_keys(b, qkv),
         .outputs = queries_and_keys(b, y)});
  return y;
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
  const TensorId y =
      b.activation(spec.name + ".context", {b.batch(), b.tokens(), heads(b), head_dim(b)});
  const TensorId lse = b.tensor(spec.name + ".logsumexp", {b.batch(), heads(b), b.tokens()},
                                Role::statistic, DType::fp32);
  const std::int64_t key_count = keys(h.key).size;
  const double counted = counted_keys(b, key_count);
  Op op{.name = spec.name + ".flash",
        .kind = OpKind::flash_attention,
        .cls = OpClass::contraction,
        .part = Part::attention_core,
        .space = {b.batch(), heads(b), b.tokens(), keys(h.key), head_dim(b)},
        .reduced = 2,
        .flops_per_point = 4 * counted,  // scores and weighted sum
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

/// From queries, keys and values to the context [batch, sequence, heads, head_dim].
TensorId add_core(BlockBuilder& b, const CoreSpec& spec, const Heads& h) {
  if (b.options.flash_attention) { return add_flash_attention(b, spec, h); }
  const Dim key = keys(h.key);
  TensorId x = add_head_product(b, {.name = spec.name + ".scores",
                                    .left = h.query,
                                    .right = h.key,
                                    .shape = {b.batch(), heads(b), b.tokens(), key},
                                    .summed = head_dim(b),
                                    .counted = counted_keys(b, key.size)});
  x = add_score_terms(b, spec, x, key);
  x = add_softmax(b, spec, x);
  x = add_dropout(b, spec.name + ".dropout", Part::attention_core, x, b.config.attention_dropout);
  return add_head_product(b, {.name = spec.name + ".context",
                              .left = b.whole(x),
                              .right = h.value,
                              .shape = {b.batch(), b.tokens(), heads(b), head_dim(b)},
                              .summed = key,
                              .counted = counted_keys(b, key.size)});
}

TensorId add_projection(BlockBuilder& b, const std::string& name, TensorId context) {
  return add_linear(b, {.name = name + ".projection",
                        .part = Part::attention,
                        .input = b.whole(context),
                        .rows = {b.batch(), b.tokens()},
                        .features = {b.hidden()},
                        .reduced = {heads(b), head_dim(b)},
                        .bias = b.config.bias});
}

/// One of the three projections on its own, of `x` with `rows` as its first axes.
TensorId add_single_projection(BlockBuilder& b, const std::string& name, TensorId x, Dim head) {
  const Shape& in = b.shape_of(x);
  return add_linear(b, {.name = name,
                        .part = Part::attention,
                        .input = b.whole(x),
                        .rows = {in[0], in[1]},
                        .features = {head, head_dim(b)},
                        .reduced = {b.hidden()},
                        .bias = b.config.qkv_bias});
}

/// `t` [batch, sequence, kv_heads, head_dim] as the attention sees it.
Operand as_keys(const BlockBuilder& b, TensorId t) {
  return {t, {b.batch(), {Axis::key_sequence, b.shape_of(t)[1].size}, kv_heads(b), head_dim(b)}};
}

/// T5's table of relative positions, looked up for every pair of tokens. The first layer of a stack
/// holds it; the others add what it found.
TensorId position_bias(BlockBuilder& b, bool holds_table) {
  const Shape shape{heads(b), b.tokens(), {Axis::key_sequence, b.sequence}};
  const TensorId bias = b.activation("attention.relative_positions", shape);
  if (!holds_table) { return bias; }
  const TensorId table = b.weight("attention.relative_positions.weight",
                                  {{Axis::positions, b.config.relative_buckets}, heads(b)});
  const TensorId bucket =
      b.index("attention.buckets", {b.tokens(), {Axis::key_sequence, b.sequence}});
  b.add({.name = "attention.relative_positions",
         .kind = OpKind::embedding,
         .cls = OpClass::elementwise,
         .part = Part::attention,
         .space = shape,
         .flops_per_point = 0,
         .inputs = {b.whole(bucket)},
         .weights = {b.whole(table)},
         .outputs = {b.whole(bias)},
         .saved = {bucket},
         .input_needs_gradient = false});
  return bias;
}

}  // namespace

TensorId self_attention(BlockBuilder& b, TensorId x, const LayerSpec& spec) {
  const ModelConfig& c = b.config;
  TensorId qkv = add_linear(b, {.name = "attention.qkv",
                                .part = Part::attention,
                                .input = b.whole(x),
                                .rows = {b.batch(), b.tokens()},
                                .features = {{Axis::qkv, c.heads + 2 * c.kv_heads}, head_dim(b)},
                                .reduced = {b.hidden()},
                                .bias = c.qkv_bias});
  if (c.qk_norm) { qkv = add_qk_norm(b, qkv); }
  if (c.positions == Positions::rotary) { qkv = add_rotary(b, qkv); }
  const bool relative = c.positions == Positions::relative;
  const CoreSpec core{.name = "attention",
                      .causal = spec.causal,
                      .position_bias = relative ? position_bias(b, spec.position_table) : -1};
  const Operand keys_of_self{
      qkv,
      {b.batch(), {Axis::key_sequence, b.options.prefix + b.sequence}, kv_heads(b), head_dim(b)}};
  const Heads h{queries_and_keys(b, qkv).front(), keys_of_self, keys_of_self};
  return add_projection(b, core.name, add_core(b, core, h));
}

TensorId cross_attention(BlockBuilder& b, TensorId x) {
  // Keys and values are two products, as in fairseq and Hugging Face; a fused one would be
  // indistinguishable from self-attention's by its axes.
  const std::string name = "cross_attention";
  const TensorId query = add_single_projection(b, name + ".query", x, heads(b));
  const TensorId key = add_single_projection(b, name + ".key", b.graph.memory, kv_heads(b));
  const TensorId value = add_single_projection(b, name + ".value", b.graph.memory, kv_heads(b));
  const Heads h{b.whole(query), as_keys(b, key), as_keys(b, value)};
  return add_projection(b, name, add_core(b, {.name = name}, h));
}

TensorId query_attention(BlockBuilder& b, TensorId x) {
  // The position of the next token asks; there is one row per
  // position [arXiv:2104.12369, sec. 2.2].
  const TensorId table =
      b.weight("query.positions.weight", {{Axis::positions, b.config.max_positions}, b.hidden()});
  const TensorId ids = b.index("query.ids", {b.batch(), b.tokens()});
  const TensorId asked = b.activation("query.positions", b.stream());
  b.add({.name = "query.positions",
         .kind = OpKind::embedding,
         .cls = OpClass::elementwise,
         .part = Part::embedding,
         .space = b.stream(),
         .flops_per_point = 0,
         .inputs = {b.whole(ids)},
         .weights = {{table, b.stream()}},
         .outputs = {b.whole(asked)},
         .saved = {ids},
         .input_needs_gradient = false});
  const std::string name = "attention";
  const TensorId query = add_single_projection(b, name + ".query", asked, heads(b));
  const TensorId key = add_single_projection(b, name + ".key", x, kv_heads(b));
  const TensorId value = add_single_projection(b, name + ".value", x, kv_heads(b));
  const Heads h{b.whole(query), as_keys(b, key), as_keys(b, value)};
  return add_projection(b, name, add_core(b, {.name = name, .causal = true}, h));
}

}  // namespace tsim::models
