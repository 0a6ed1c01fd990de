// Shapes of trained tensors, as far as optimizers and number formats tell them apart.
#pragma once

#include <cstdint>
#include <vector>

#include "models/op_graph.hpp"

namespace tsim::strategies {

/// A trained tensor with its axes joined to two: those that its operator sums over, and the rest.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t count = 1;  // equal ones
  bool wide = false;       // of an adapter: stays in the 16-bit format where others have fp8 copies
  bool operator==(const Matrix&) const = default;
};

/// All of a rank's trained tensors but norms and biases.
struct WeightShapes {
  std::vector<Matrix> products;  // weights of products, but for the head
  std::vector<Matrix> tables;    // embeddings, position tables and the head's weight
  bool operator==(const WeightShapes&) const = default;
};

/// Weights of routed experts, of which other ranks hold copies than of the rest of a layer.
struct ExpertWeights {
  std::int64_t elements = 0;
  WeightShapes shapes{};
  bool operator==(const ExpertWeights&) const = default;
};

/// Weights that are kept and never trained: no gradient, no master copy, no moments.
struct FrozenWeights {
  std::int64_t elements = 0;   // without the word embedding
  std::int64_t whole = 0;      // of these, kept on every rank although others are sharded
  std::int64_t embedding = 0;  // the word embedding, of which a rank has one copy
  int tensors = 0;             // that all of them are
  WeightShapes shapes{};
  ExpertWeights experts{};  // of the elements, spread otherwise
  bool operator==(const FrozenWeights&) const = default;
};

/// Which weights of a block.
enum class WeightClass : std::uint8_t { all, dense, experts };
/// Whether a tensor has a part for every expert.
bool is_of_experts(const models::Tensor& tensor);

/// Of one block as one rank holds it, those that are frozen or those that are not; without the word
/// embedding, which several blocks may share.
WeightShapes weight_shapes(const models::OpGraph& sharded, WeightClass cls = WeightClass::all,
                           bool frozen = false);
/// The word embedding of a block; none when it has none or does not train it.
std::vector<Matrix> word_embedding(const models::OpGraph& sharded);

void add(WeightShapes& to, const WeightShapes& more);
void add(ExpertWeights& to, const ExpertWeights& more);
void add(FrozenWeights& to, const FrozenWeights& more);

/// Elements in all of `matrices`, and the sum of their rows and columns.
std::int64_t elements(const std::vector<Matrix>& matrices);
std::int64_t rows_and_columns(const std::vector<Matrix>& matrices);

}  // namespace tsim::strategies
