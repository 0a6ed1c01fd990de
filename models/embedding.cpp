// What turns tokens or patches into the stream between layers.
#include "models/block_builder.hpp"
#include "models/stored_format.hpp"

namespace tsim::models {
namespace {

/// Rows of a small trained table, added: every sample reads the same positions.
TensorId add_positions(BlockBuilder& b, TensorId x) {
  const Shape rows{b.tokens(), b.hidden()};
  if (b.config.positions == Positions::learned) {
    const TensorId table =
        b.weight("embedding.position", {{Axis::positions, b.config.max_positions}, b.hidden()});
    return add_bias(b, "embedding.add_position", Part::embedding, x, {table, rows});
  }
  if (b.config.positions == Positions::sinusoidal) {
    const TensorId waves =
        b.tensor("embedding.sinusoids", rows, Role::index, stored_format(b.options.compute));
    x = add_elementwise(b, {"embedding.add_position", OpKind::bias, Part::embedding, 1}, x);
    b.graph.ops.back().inputs.push_back(b.whole(waves));
  }
  return x;
}

TensorId add_tokens(BlockBuilder& b) {
  TensorId x = add_positions(b, word_lookup(b));
  if (b.config.types > 0) {
    const TensorId table = b.weight("embedding.type", {{Axis::types, b.config.types}, b.hidden()});
    x = add_bias(b, "embedding.add_type", Part::embedding, x, {table, b.stream()});
    const TensorId ids = b.index("embedding.type_ids", {b.batch(), b.tokens()});
    b.graph.ops.back().inputs.push_back(b.whole(ids));
    b.graph.ops.back().saved.push_back(ids);
  }
  if (b.config.embedding_norm) { x = add_norm(b, "embedding.norm", x); }
  return add_dropout(b, "embedding.dropout", Part::embedding, x, b.config.dropout);
}

/// The class token in front of the patches.
TensorId add_class_token(BlockBuilder& b, TensorId patches) {
  const TensorId token = b.weight("embedding.class_token", {b.hidden()});
  const TensorId y = b.activation("embedding.tokens", b.stream());
  b.add({.name = "embedding.class_token",
         .kind = OpKind::reshape,
         .cls = OpClass::elementwise,
         .part = Part::embedding,
         .space = b.stream(),
         .flops_per_point = 0,
         .inputs = {b.whole(patches)},
         .weights = {b.whole(token)},
         .outputs = {b.whole(y)}});
  return y;
}

}  // namespace

// The vocabulary is a reduced axis, because a rank that holds some of the rows finds some of the
// tokens; only the rows that are asked for are read.
TensorId word_lookup(BlockBuilder& b) {
  const Dim vocab{Axis::vocab, b.config.vocab};
  const TensorId table = b.weight("embedding.word", {vocab, b.hidden()});
  const TensorId ids = b.index("embedding.ids", {b.batch(), b.tokens()});
  const TensorId words = b.activation("embedding.words", b.stream());
  b.add({.name = "embedding.word",
         .kind = OpKind::embedding,
         .cls = OpClass::elementwise,
         .part = Part::embedding,
         .space = joined(b.stream(), {vocab}),
         .reduced = 1,
         .flops_per_point = 0,
         .inputs = {b.whole(ids)},
         .weights = {{table, b.stream()}},
         .outputs = {b.whole(words)},
         .saved = {ids},
         .input_needs_gradient = false});
  return words;
}

OpGraph token_embedding(BlockBuilder b) {
  b.graph.output = add_tokens(b);
  return topologically_sorted(std::move(b.graph));
}

OpGraph decoder_embedding(BlockBuilder b) {
  const Shape shape{b.batch(), {Axis::sequence, b.memory_sequence}, b.hidden()};
  b.graph.input = b.activation("input", shape);
  b.graph.memory = b.config.final_norm ? add_norm(b, "encoder.norm", b.graph.input) : b.graph.input;
  b.graph.output = add_tokens(b);
  return topologically_sorted(std::move(b.graph));
}

OpGraph patch_embedding(BlockBuilder b) {
  const ModelConfig& c = b.config;
  const bool class_token = c.stages.empty();
  const Shape rows{b.batch(), {Axis::sequence, b.sequence - (class_token ? 1 : 0)}};
  const Dim pixels{Axis::patch, c.patch * c.patch * c.channels};
  const TensorId image = b.tensor("embedding.pixels", joined(rows, {pixels}), Role::index,
                                  stored_format(b.options.compute));
  TensorId x = add_linear(b, {.name = "embedding.patch",
                              .part = Part::embedding,
                              .input = b.whole(image),
                              .rows = rows,
                              .features = {b.hidden()},
                              .reduced = {pixels},
                              .bias = true,
                              .input_needs_gradient = false});
  if (class_token) { x = add_class_token(b, x); }
  x = add_positions(b, x);
  if (c.embedding_norm) { x = add_norm(b, "embedding.norm", x); }
  b.graph.output = add_dropout(b, "embedding.dropout", Part::embedding, x, c.dropout);
  return topologically_sorted(std::move(b.graph));
}

}  // namespace tsim::models
