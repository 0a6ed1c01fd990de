#include "strategies/weight_shapes.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace tsim::strategies {
namespace {

using models::Op;
using models::OpGraph;
using models::OpKind;
using models::Shape;
using models::Tensor;

constexpr std::string_view kWordEmbedding = "embedding.word";

std::int64_t elements_of(Shape::const_iterator from, Shape::const_iterator to) {
  return models::elements(Shape(from, to));
}

/// Whether rows of the tensor are picked, and not all of it is used for each token: embeddings,
/// positions, token types. The bias of a product with several axes is none.
bool is_table(const Op& op, const Tensor& tensor) {
  return op.kind == OpKind::embedding || models::has_axis(tensor.shape, models::Axis::positions) ||
         models::has_axis(tensor.shape, models::Axis::types);
}

/// How the operator uses the tensor: a product sums over its first axes, a table is looked up by
/// the first.
std::optional<Matrix> matrix_of(const Op& op, const Tensor& tensor) {
  if (tensor.shape.size() < 2) { return std::nullopt; }
  if (!models::is_weight_product(op.kind) && !is_table(op, tensor)) { return std::nullopt; }
  if (is_of_experts(tensor)) {  // one product for each, which sums over its first axes
    Tensor one = tensor;
    one.shape.erase(one.shape.begin());
    Op product = op;
    product.kind = OpKind::matmul;
    std::optional<Matrix> matrix = matrix_of(product, one);
    if (matrix) { matrix->count = tensor.shape.front().size; }
    return matrix;
  }
  auto summed = tensor.shape.begin() + 1;
  if (op.kind == OpKind::matmul) {
    const std::int64_t reduced = elements_of(op.space.end() - op.reduced, op.space.end());
    while (summed < tensor.shape.end() - 1 && elements_of(tensor.shape.begin(), summed) < reduced) {
      ++summed;
    }
  }
  return Matrix{.rows = elements_of(tensor.shape.begin(), summed),
                .columns = elements_of(summed, tensor.shape.end()),
                .wide = models::has_axis(tensor.shape, models::Axis::adapter_rank)};
}

void add(std::vector<Matrix>& to, const Matrix& matrix) {
  const auto same = std::find_if(to.begin(), to.end(), [&](const Matrix& m) {
    return m.rows == matrix.rows && m.columns == matrix.columns && m.wide == matrix.wide;
  });
  if (same == to.end()) {
    to.push_back(matrix);
  } else {
    same->count += matrix.count;
  }
}

/// The first operator that reads a weight says what it is.
const Op* reader_of(const OpGraph& graph, std::size_t tensor) {
  for (const Op& op : graph.ops) {
    for (const models::Operand& weight : op.weights) {
      if (weight.tensor == static_cast<models::TensorId>(tensor)) { return &op; }
    }
  }
  return nullptr;
}

bool is_in(WeightClass cls, const Tensor& tensor) {
  return cls == WeightClass::all || is_of_experts(tensor) == (cls == WeightClass::experts);
}

}  // namespace

bool is_of_experts(const Tensor& tensor) {
  return models::has_axis(tensor.shape, models::Axis::expert);
}

WeightShapes weight_shapes(const OpGraph& sharded, WeightClass cls, bool frozen) {
  WeightShapes shapes;
  for (std::size_t i = 0; i < sharded.tensors.size(); ++i) {
    const Tensor& tensor = sharded.tensors[i];
    if (tensor.role != models::Role::weight || tensor.name == kWordEmbedding) { continue; }
    if (tensor.frozen != frozen || !is_in(cls, tensor)) { continue; }
    const Op* const op = reader_of(sharded, i);
    const auto matrix = op == nullptr ? std::nullopt : matrix_of(*op, tensor);
    if (!matrix) { continue; }
    if (models::is_weight_product(op->kind) && op->part != models::Part::head) {
      add(shapes.products, *matrix);
    } else {
      add(shapes.tables, *matrix);
    }
  }
  return shapes;
}

std::vector<Matrix> word_embedding(const OpGraph& sharded) {
  std::vector<Matrix> tables;
  for (std::size_t i = 0; i < sharded.tensors.size(); ++i) {
    const Tensor& tensor = sharded.tensors[i];
    const Op* const op =
        tensor.name == kWordEmbedding && !tensor.frozen ? reader_of(sharded, i) : nullptr;
    if (op == nullptr) { continue; }
    if (const auto matrix = matrix_of(*op, tensor)) { add(tables, *matrix); }
  }
  return tables;
}

void add(WeightShapes& to, const WeightShapes& more) {
  for (const Matrix& m : more.products) { add(to.products, m); }
  for (const Matrix& m : more.tables) { add(to.tables, m); }
}

void add(ExpertWeights& to, const ExpertWeights& more) {
  to.elements += more.elements;
  add(to.shapes, more.shapes);
}

void add(FrozenWeights& to, const FrozenWeights& more) {
  to.elements += more.elements;
  to.whole += more.whole;
  to.embedding = std::max(to.embedding, more.embedding);
  to.tensors += more.tensors;
  add(to.shapes, more.shapes);
  add(to.experts, more.experts);
}

std::int64_t elements(const std::vector<Matrix>& matrices) {
  std::int64_t sum = 0;
  for (const Matrix& m : matrices) { sum += m.count * m.rows * m.columns; }
  return sum;
}

std::int64_t rows_and_columns(const std::vector<Matrix>& matrices) {
  std::int64_t sum = 0;
  for (const Matrix& m : matrices) { sum += m.count * (m.rows + m.columns); }
  return sum;
}

}  // namespace tsim::strategies
