// Self-, cross- and query attention as operators.
#include "models/attention_core.hpp"

namespace tsim::models {
namespace {

Dim head_dim(const BlockBuilder& b) { return {Axis::head_dim, b.config.head_dim}; }
Dim heads(const BlockBuilder& b) { return {Axis::heads, b.config.heads}; }
Dim kv_heads(const BlockBuilder& b) { return {Axis::kv_heads, b.config.kv_heads}; }

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
  if (c.latent.kv_lora_rank > 0) { return latent_attention(b, x, spec); }
  if (c.window > 0) { return windowed_attention(b, x); }
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
