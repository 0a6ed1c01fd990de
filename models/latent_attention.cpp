// Attention with low-rank keys and values [arXiv:2405.04434, sec. 2.1], as training computes it:
// the keys and values of all heads are made, nothing is absorbed.
#include "models/attention_core.hpp"

namespace tsim::models {
namespace {

Dim heads(const BlockBuilder& b) { return {Axis::heads, b.config.heads}; }
Shape rows(const BlockBuilder& b) { return {b.batch(), b.tokens()}; }

/// Columns of a head's queries and keys: with positions and without.
Dim key_dim(const BlockBuilder& b) {
  const LatentAttention& l = b.config.latent;
  return {Axis::head_dim, l.qk_nope_head_dim + l.qk_rope_head_dim};
}

TensorId add_product(BlockBuilder& b, const std::string& name, const Operand& x, Shape features) {
  return add_linear(b, {.name = "attention." + name,
                        .part = Part::attention,
                        .input = x,
                        .rows = rows(b),
                        .features = std::move(features),
                        .reduced = {x.shape.back()},
                        .bias = b.config.qkv_bias});
}

/// The RMS norm of the first columns of `x`, those that stand for keys and values or queries.
TensorId add_rank_norm(BlockBuilder& b, const std::string& name, const Operand& x) {
  const TensorId y = b.activation(name, x.shape);
  const TensorId rstd = b.tensor(name + ".rstd", rows(b), Role::statistic, DType::fp32);
  const TensorId weight = b.weight(name + ".weight", {x.shape.back()});
  b.add({.name = name,
         .kind = OpKind::rms_norm,
         .cls = OpClass::normalization,
         .part = Part::attention,
         .space = x.shape,
         .reduced = 1,
         .flops_per_point = 4,
         .inputs = {x},
         .weights = {b.whole(weight)},
         .outputs = {b.whole(y), b.whole(rstd)},
         .saved = {x.tensor, rstd}});
  return y;
}

/// Queries of all heads, from the hidden state or through q_lora_rank columns.
TensorId add_queries(BlockBuilder& b, TensorId x) {
  const std::int64_t rank = b.config.latent.q_lora_rank;
  const Shape features{heads(b), key_dim(b)};
  if (rank == 0) { return add_product(b, "query", b.whole(x), features); }
  const TensorId low = add_product(b, "query_down", b.whole(x), {{Axis::q_rank, rank}});
  const TensorId normed = add_rank_norm(b, "attention.query_norm", b.whole(low));
  return add_product(b, "query_up", b.whole(normed), features);
}

/// Queries with positions in their last columns, in place.
TensorId add_query_rotary(BlockBuilder& b, TensorId query) {
  const LatentAttention& l = b.config.latent;
  const Operand turned{query, joined(rows(b), {heads(b), {Axis::head_dim, l.qk_rope_head_dim}})};
  const TensorId y = b.activation("attention.rotary", b.shape_of(query));
  b.add({.name = "attention.rotary",
         .kind = OpKind::rotary,
         .cls = OpClass::elementwise,
         .part = Part::attention,
         .space = turned.shape,
         .flops_per_point = 3,  // two products and a sum
         .inputs = {turned},
         .outputs = {{y, turned.shape}}});
  return y;
}

/// Keys of all heads: each one's own columns beside the columns with positions that all share.
TensorId add_keys(BlockBuilder& b, TensorId up, TensorId down) {
  const LatentAttention& l = b.config.latent;
  const Operand own{up, joined(rows(b), {heads(b), {Axis::head_dim, l.qk_nope_head_dim}})};
  const Operand shared{down, joined(rows(b), {{Axis::kv_rank, l.qk_rope_head_dim}})};
  const TensorId y = b.activation("attention.keys", joined(rows(b), {heads(b), key_dim(b)}));
  const double turned = static_cast<double>(l.qk_rope_head_dim) /
                        static_cast<double>(l.qk_nope_head_dim + l.qk_rope_head_dim);
  b.add({.name = "attention.keys",
         .kind = OpKind::rotary,
         .cls = OpClass::elementwise,
         .part = Part::attention,
         .space = b.shape_of(y),
         .flops_per_point = 3 * turned,
         .inputs = {own, shared},
         .outputs = {b.whole(y)}});
  return y;
}

Operand as_keys(const BlockBuilder& b, TensorId t, std::int64_t columns) {
  return {t,
          {b.batch(),
           {Axis::key_sequence, b.options.prefix + b.sequence},
           heads(b),
           {Axis::head_dim, columns}}};
}

}  // namespace

TensorId latent_attention(BlockBuilder& b, TensorId x, const LayerSpec& spec) {
  const LatentAttention& l = b.config.latent;
  const TensorId query = add_query_rotary(b, add_queries(b, x));
  const TensorId down =
      add_product(b, "kv_down", b.whole(x), {{Axis::kv_rank, l.kv_lora_rank + l.qk_rope_head_dim}});
  const Operand low{down, joined(rows(b), {{Axis::kv_rank, l.kv_lora_rank}})};
  const TensorId normed = add_rank_norm(b, "attention.kv_norm", low);
  const Dim both{Axis::head_dim, l.qk_nope_head_dim + l.v_head_dim};
  const TensorId up = add_product(b, "kv_up", b.whole(normed), {heads(b), both});
  const TensorId key = add_keys(b, up, down);
  const Heads h{b.whole(query), as_keys(b, key, key_dim(b).size), as_keys(b, up, l.v_head_dim)};
  const std::string name = "attention";
  return add_projection(b, name, add_core(b, {.name = name, .causal = spec.causal}, h));
}

}  // namespace tsim::models
