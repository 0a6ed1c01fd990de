#include "strategies/shard.hpp"

#include <algorithm>
#include <cassert>

#include "models/stored_format.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;
using models::Axis;
using models::Dim;
using models::Op;
using models::OpGraph;
using models::OpKind;
using models::Shape;

bool is_divided(Axis axis) {
  switch (axis) {
    case Axis::qkv:
    case Axis::heads:
    case Axis::kv_heads:
    case Axis::ffn:
    case Axis::gate_ffn:
    case Axis::vocab: return true;
    default: return false;
  }
}

std::int64_t divided(const Dim& dim, const Sharding& s) {
  const std::int64_t kv = std::max<std::int64_t>(1, s.kv_heads / s.tensor);
  if (dim.axis == Axis::kv_heads) { return kv; }
  if (dim.axis == Axis::qkv) { return s.heads / s.tensor + 2 * kv; }
  return (dim.size + s.tensor - 1) / s.tensor;
}

/// `split_sequence`: the shape belongs to an operator or tensor outside the divided region.
Shape resized(Shape shape, const Sharding& s, bool split_sequence) {
  for (Dim& dim : shape) {
    if (is_divided(dim.axis)) {
      dim.size = divided(dim, s);
    } else if (split_sequence && dim.axis == Axis::sequence) {
      dim.size = (dim.size + s.tensor - 1) / s.tensor;
    }
  }
  return shape;
}

Op resized(Op op, const Sharding& s) {
  const bool split_sequence = s.sequence_parallel && !is_split(op.space);
  op.space = resized(std::move(op.space), s, split_sequence);
  for (auto* operands : {&op.inputs, &op.weights, &op.outputs}) {
    for (models::Operand& operand : *operands) {
      operand.shape = resized(std::move(operand.shape), s, split_sequence);
    }
  }
  return op;
}

/// Whether a sum over a divided axis leaves partial results on every rank.
bool sums_over_split(const Op& op) {
  const auto reduced = op.space.end() - op.reduced;
  return std::any_of(reduced, op.space.end(), [](const Dim& d) { return is_divided(d.axis); });
}

bool keeps_split(const Op& op) {
  const auto reduced = op.space.end() - op.reduced;
  return std::any_of(op.space.begin(), reduced, [](const Dim& d) { return is_divided(d.axis); });
}

Bytes operand_size(const OpGraph& graph, const models::Operand& operand) {
  const models::Tensor& tensor = graph.tensors[static_cast<std::size_t>(operand.tensor)];
  return models::elements(operand.shape) * Bytes{models::size_of(tensor.dtype)};
}

/// Gradients of a quantised activation are as wide as what it was made of.
Bytes gradient_size(const OpGraph& graph, const models::Operand& operand) {
  const models::DType dtype = graph.tensors[static_cast<std::size_t>(operand.tensor)].dtype;
  return models::elements(operand.shape) * Bytes{models::size_of(models::stored_format(dtype))};
}

/// The activation that a divided operator reads whole.
const models::Operand* whole_input(const OpGraph& graph, const Op& op) {
  for (const models::Operand& input : op.inputs) {
    const auto& tensor = graph.tensors[static_cast<std::size_t>(input.tensor)];
    if (tensor.role == models::Role::activation && !is_split(input.shape)) { return &input; }
  }
  return nullptr;
}

/// Cross entropy over a divided vocabulary: the maximum, the label's logit and the sum of
/// exponentials, one fp32 each for every token.
void add_loss_comms(const Op& op, models::OpId id, TensorComms& comms) {
  const std::int64_t tokens =
      models::elements(Shape(op.space.begin(), op.space.end() - op.reduced));
  for (int i = 0; i < 3; ++i) {
    comms.after_forward.push_back({id, CollectiveOp::all_reduce, tokens * Bytes{4}});
  }
}

CollectiveOp sum_of(bool sequence_parallel) {
  return sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
}

/// Partial results are added up; the gradient of a scattered sum has to be gathered first.
void add_output_comms(const OpGraph& graph, models::OpId id, bool sequence_parallel,
                      TensorComms& comms) {
  const Op& op = graph.ops[static_cast<std::size_t>(id)];
  if (!sums_over_split(op)) { return; }
  const Bytes size = operand_size(graph, op.outputs.front());
  comms.after_forward.push_back({id, sum_of(sequence_parallel), size});
  if (sequence_parallel) { comms.before_backward.push_back({id, CollectiveOp::all_gather, size}); }
}

/// An input that all ranks read whole gets its gradient in parts.
void add_input_comms(const OpGraph& graph, models::OpId id, bool sequence_parallel,
                     TensorComms& comms) {
  const Op& op = graph.ops[static_cast<std::size_t>(id)];
  const models::Operand* whole = whole_input(graph, op);
  if (whole == nullptr || !keeps_split(op) || !op.input_needs_gradient) { return; }
  const Bytes size = operand_size(graph, *whole);
  if (sequence_parallel) { comms.before_forward.push_back({id, CollectiveOp::all_gather, size}); }
  comms.after_backward_input.push_back(
      {id, sum_of(sequence_parallel), gradient_size(graph, *whole)});
}

}  // namespace

bool is_split(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return is_divided(d.axis); });
}

OpGraph shard(const OpGraph& graph, const Sharding& s) {
  assert(s.tensor >= 1);
  if (s.tensor == 1) { return graph; }
  OpGraph part = graph;
  for (Op& op : part.ops) { op = resized(std::move(op), s); }
  for (models::Tensor& tensor : part.tensors) {
    const bool split_sequence =
        s.sequence_parallel && tensor.role != models::Role::weight && !is_split(tensor.shape);
    tensor.shape = resized(std::move(tensor.shape), s, split_sequence);
  }
  return part;
}

TensorComms tensor_comms(const OpGraph& sharded, const Sharding& s) {
  TensorComms comms;
  if (s.tensor == 1) { return comms; }
  for (std::size_t i = 0; i < sharded.ops.size(); ++i) {
    const Op& op = sharded.ops[i];
    const auto id = static_cast<models::OpId>(i);
    if (!is_split(op.space)) { continue; }
    if (op.kind == OpKind::cross_entropy) {
      add_loss_comms(op, id, comms);
    } else {
      add_output_comms(sharded, id, s.sequence_parallel, comms);
      add_input_comms(sharded, id, s.sequence_parallel, comms);
    }
  }
  return comms;
}

}  // namespace tsim::strategies
