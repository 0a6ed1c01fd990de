// What follows the last layer: final norm, projections, loss.
#include "models/block_builder.hpp"

namespace tsim::models {
namespace {

/// The first token's vector of `x`.
Operand first_token(const BlockBuilder& b, TensorId x) { return {x, {b.batch(), b.hidden()}}; }

/// BERT's dense layer, activation and norm before the vocabulary [arXiv:1810.04805, app. A.2].
TensorId add_transform(BlockBuilder& b, TensorId x) {
  x = add_linear(b, {.name = "head.transform",
                     .part = Part::head,
                     .input = b.whole(x),
                     .rows = {b.batch(), b.tokens()},
                     .features = {b.hidden()},
                     .reduced = {b.hidden()},
                     .bias = true});
  x = activation_function(b, "head.activation", Part::head, x);
  return add_norm(b, "head.norm", x);
}

TensorId add_logits(BlockBuilder& b, TensorId x) {
  return add_linear(b, {.name = "head.logits",
                        .part = Part::head,
                        .input = b.whole(x),
                        .rows = {b.batch(), b.tokens()},
                        .features = {{Axis::vocab, b.config.vocab}},
                        .reduced = {b.hidden()},
                        .bias = b.config.head_bias,
                        .weight = b.config.tied_embedding ? "embedding.word" : "head.weight"});
}

/// A dense layer with tanh on the first token [arXiv:1810.04805, sec. 4.1].
TensorId add_pooler(BlockBuilder& b, TensorId x) {
  const TensorId dense = add_linear(b, {.name = "head.pooler",
                                        .part = Part::head,
                                        .input = first_token(b, x),
                                        .rows = {b.batch()},
                                        .features = {{Axis::pooled, b.config.hidden}},
                                        .reduced = {b.hidden()},
                                        .bias = true});
  const TensorId y = add_elementwise(b, {"head.tanh", OpKind::activation, Part::head, 8}, dense);
  b.graph.ops.back().saved.push_back(y);
  return y;
}

/// The mean of all tokens.
TensorId add_mean(BlockBuilder& b, TensorId x) {
  const TensorId y = b.activation("head.mean", {b.batch(), b.hidden()});
  b.add({.name = "head.mean",
         .kind = OpKind::reshape,
         .cls = OpClass::elementwise,
         .part = Part::head,
         .space = b.stream(),
         .flops_per_point = 1,
         .inputs = {b.whole(x)},
         .outputs = {b.whole(y)}});
  return y;
}

TensorId add_classes(BlockBuilder& b, const Operand& x) {
  return add_linear(b, {.name = "head.classes",
                        .part = Part::head,
                        .input = x,
                        .rows = {b.batch()},
                        .features = {{Axis::classes, b.config.classes}},
                        .reduced = {x.shape.back()},
                        .bias = true});
}

/// Cross-entropy in fp32 of 16-bit logits: a copy in fp32 that becomes the probabilities kept for
/// the backward, 4 bytes a logit [arXiv:2205.05198, sec. 4.3].
void add_loss(BlockBuilder& b, TensorId logits) {
  const Shape shape = b.shape_of(logits);
  const Shape rows(shape.begin(), shape.end() - 1);
  if (size_of(b.options.compute) < size_of(DType::fp32)) {
    logits = add_elementwise(b, {"loss.cast", OpKind::cast, Part::loss, 0}, logits);
    b.graph.tensors.back().dtype = DType::fp32;
  }
  const TensorId labels = b.index("loss.labels", rows);
  const TensorId kept = b.tensor("loss.probabilities", shape, Role::activation, DType::fp32);
  const TensorId loss = b.tensor("loss", rows, Role::activation, DType::fp32);
  b.add({.name = "loss.cross_entropy",
         .kind = OpKind::cross_entropy,
         .cls = OpClass::normalization,
         .part = Part::loss,
         .space = shape,
         .reduced = 1,
         .flops_per_point = 4,  // as a softmax
         .inputs = {b.whole(logits), b.whole(labels)},
         .outputs = {b.whole(loss), b.whole(kept)},
         .saved = {labels, kept}});
}

/// Names what was added after `ops` operators and `tensors` tensors as belonging to module
/// `module`; the tables that modules share keep their names.
void rename_module(BlockBuilder& b, std::size_t ops, std::size_t tensors, int module) {
  const std::string prefix = module == 0 ? "mtp." : "mtp" + std::to_string(module + 1) + ".";
  for (std::size_t i = ops; i < b.graph.ops.size(); ++i) { b.graph.ops[i].name.insert(0, prefix); }
  for (std::size_t i = tensors; i < b.graph.tensors.size(); ++i) {
    std::string& name = b.graph.tensors[i].name;
    if (name != "embedding.word" && name != "head.weight") { name.insert(0, prefix); }
  }
}

/// One module [arXiv:2412.19437, sec. 2.2, eq. 21 to 24]: the norms of `x` and of the next token's
/// embedding side by side, projected to the stream, a layer, and the shared head.
TensorId add_module(BlockBuilder& b, TensorId x, std::int64_t experts) {
  const TensorId words = add_norm(b, "embedding.norm", word_lookup(b));
  const TensorId stream = add_norm(b, "input.norm", x);
  const Dim both{Axis::hidden, 2 * b.config.hidden};
  const TensorId pair = b.activation("pair", {b.batch(), b.tokens(), both});
  b.add({.name = "pair",
         .kind = OpKind::reshape,
         .cls = OpClass::elementwise,
         .part = Part::head,
         .space = b.shape_of(pair),
         .inputs = {b.whole(stream), b.whole(words)},
         .outputs = {b.whole(pair)}});
  const TensorId in = add_linear(b, {.name = "projection",
                                     .part = Part::head,
                                     .input = b.whole(pair),
                                     .rows = {b.batch(), b.tokens()},
                                     .features = {b.hidden()},
                                     .reduced = {both}});
  const TensorId y = layer_body(b, in, {.causal = true, .experts = experts});
  add_loss(b, add_logits(b, b.config.final_norm ? add_norm(b, "output.norm", y) : y));
  return y;
}

/// Modules that each predict one more token, one after the other.
void add_predictions(BlockBuilder& b) {
  TensorId x = b.graph.input;
  for (int i = 0; i < b.config.mtp_layers; ++i) {
    const std::size_t ops = b.graph.ops.size();
    const std::size_t tensors = b.graph.tensors.size();
    x = add_module(b, x, layer_experts(b.config).back());
    rename_module(b, ops, tensors, i);
  }
}

/// What stands for a whole sample: the mean of its tokens in models with stages, else the first.
Operand sample_row(BlockBuilder& b, TensorId x) {
  return b.config.stages.empty() ? first_token(b, x) : b.whole(add_mean(b, x));
}

}  // namespace

OpGraph head(BlockBuilder b) {
  const ModelConfig& c = b.config;
  TensorId x = b.graph.input = b.activation("input", b.stream());
  // The norm comes before a query layer, see layer().
  if (c.final_norm && !c.query_layer) { x = add_norm(b, "final.norm", x); }
  const TensorId pooled = c.pooler ? add_pooler(b, x) : -1;
  TensorId out = x;
  if (c.head) {
    out = add_logits(b, c.head_transform ? add_transform(b, x) : x);
  } else if (c.classes > 0) {
    out = add_classes(b, c.pooler ? b.whole(pooled) : sample_row(b, x));
  }
  const bool has_loss = b.options.loss && (c.head || c.classes > 0);
  if (has_loss) {
    add_loss(b, out);
    add_predictions(b);
  } else {
    b.graph.output = out;
  }
  return topologically_sorted(std::move(b.graph));
}

}  // namespace tsim::models
