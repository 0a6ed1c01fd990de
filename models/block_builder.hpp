// Building one block's graph, operator by operator. Private to this room: model families use it.
#pragma once

#include <string>

#include "models/model.hpp"

namespace tsim::models {

/// A graph in the making, and what its operators need to know of the model.
struct BlockBuilder {
  const ModelConfig& config;
  const BuildOptions& options;
  std::int64_t sequence = 1;         // tokens of the stream that runs through the block
  std::int64_t memory_sequence = 0;  // tokens of the second input, if there is one
  OpGraph graph;

  Dim batch() const { return {Axis::batch, options.micro_batch}; }
  Dim tokens() const { return {Axis::sequence, sequence}; }
  Dim hidden() const { return {Axis::hidden, config.hidden}; }
  /// [batch, sequence, hidden]: what flows between blocks.
  Shape stream() const { return {batch(), tokens(), hidden()}; }

  /// New tensors; the names are the reports' names.
  TensorId tensor(std::string name, Shape shape, Role role, DType dtype);
  TensorId activation(std::string name, Shape shape);  // in the compute format
  /// The same tensor for the same name.
  TensorId weight(std::string name, Shape shape);
  TensorId index(std::string name, Shape shape);  // int64 ids or labels

  const Shape& shape_of(TensorId id) const;
  Operand whole(TensorId id) const { return {id, shape_of(id)}; }
  /// Appends `op` and makes it the producer of its outputs.
  void add(Op op);
};

/// `a` followed by `b`.
Shape joined(Shape a, const Shape& b);

/// One matrix product with a weight: rows and features are the output's axes, and a product for
/// every one of `groups`, the output's first axes.
struct Linear {
  std::string name;  // "mlp.fc1"
  Part part{};
  Operand input;  // [rows, reduced]
  Shape rows, features, reduced;
  bool bias = false;
  std::string weight{};  // its name, `name`.weight if empty
  bool input_needs_gradient = true;
  Shape groups{};
  double counted = 1;    // points that model FLOPs count for each one that is there
  bool adapter = false;  // of an adapter itself: in the wider format, and has none
};
/// The product, the bias as an operator of its own, and the adapter if the model has one there.
TensorId add_linear(BlockBuilder& b, const Linear& linear);

/// y = x + a trained vector; `row` is the part of the table `weight` that is added.
TensorId add_bias(BlockBuilder& b, const std::string& name, Part part, TensorId x, Operand row);

/// Layer or RMS normalisation of `x` over its last axis, as the model has it.
TensorId add_norm(BlockBuilder& b, const std::string& name, TensorId x);

/// `x` with elements dropped; `x` itself when no dropout happens.
TensorId add_dropout(BlockBuilder& b, const std::string& name, Part part, TensorId x,
                     double probability);

/// x + y.
TensorId add_residual(BlockBuilder& b, const std::string& name, TensorId x, TensorId y);

/// An element-wise operator with one input and an output of the same shape.
struct Elementwise {
  std::string name;
  OpKind kind{};
  Part part{};
  double flops = 1;
};
TensorId add_elementwise(BlockBuilder& b, const Elementwise& op, TensorId x);

// Whole blocks; each returns a graph in topological order.

/// What a layer looks like beside its place in the chain.
struct LayerSpec {
  bool causal = false;
  bool cross_attention = false;
  bool query = false;           // queries are positions instead of the stream
  bool position_table = false;  // holds the table of relative positions
  std::int64_t experts = 0;     // routed ones in place of the MLP
  std::int64_t merges = 0;      // width of the tokens of which it merges squares of four first
};
OpGraph layer(BlockBuilder b, const LayerSpec& spec);
OpGraph token_embedding(BlockBuilder b);
OpGraph patch_embedding(BlockBuilder b);
/// Takes the encoder's output, hands it on as `memory` and embeds the decoder's tokens.
OpGraph decoder_embedding(BlockBuilder b);
OpGraph head(BlockBuilder b);

/// Rows of the word table, one per token.
TensorId word_lookup(BlockBuilder& b);

// Parts of a layer.

/// Attention and MLP with their norms and residuals.
TensorId layer_body(BlockBuilder& b, TensorId x, const LayerSpec& spec);

/// Self-attention of `x` up to and with the output projection (no dropout).
TensorId self_attention(BlockBuilder& b, TensorId x, const LayerSpec& spec);
/// Attention from `x` to graph.memory.
TensorId cross_attention(BlockBuilder& b, TensorId x);
/// Attention whose queries are learned positions, keys and values come from `x`.
TensorId query_attention(BlockBuilder& b, TensorId x);
/// Attention inside squares of tokens, with relative positions of the layer's own.
TensorId windowed_attention(BlockBuilder& b, TensorId x);
/// Squares of four tokens of `width` columns as one token of the stream
/// [arXiv:2103.14030, sec. 3.1].
TensorId merge_patches(BlockBuilder& b, TensorId x, std::int64_t width);
/// Latent attention of `x` up to and with the output projection.
TensorId latent_attention(BlockBuilder& b, TensorId x, const LayerSpec& spec);
/// A dense MLP of `ffn` columns; its operators' names begin with `name`.
TensorId mlp(BlockBuilder& b, TensorId x, const std::string& name, std::int64_t ffn);
/// Router, dispatch, `experts` experts, combine, and the branch that all tokens take, if any.
TensorId moe_mlp(BlockBuilder& b, TensorId x, std::int64_t experts);
bool is_gated(Activation activation);
/// An activation function on `x` [.., ffn], or on the gate's columns of `x` [.., gate_ffn]; the
/// same on an expert's columns.
TensorId activation_function(BlockBuilder& b, const std::string& name, Part part, TensorId x);

}  // namespace tsim::models
