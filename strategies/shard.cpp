#include "strategies/shard.hpp"

#include <algorithm>
#include <cassert>

#include "models/stored_format.hpp"
#include "strategies/expert_comms.hpp"

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

std::int64_t part(std::int64_t size, std::int64_t parts) { return (size + parts - 1) / parts; }

/// How the axes of one operator or tensor are divided.
struct Division {
  std::int64_t features = 1;  // heads, ffn, vocabulary
  std::int64_t sequence = 1;
  std::int64_t keys = 1;
  std::int64_t together = 1;  // parts of the sequence that are here: tokens of so many ranks
  bool rows_apart = false;    // each of the ranks that split an expert has its own rows
};

std::int64_t divided(const Dim& dim, const Sharding& s, std::int64_t parts) {
  const std::int64_t kv = std::max<std::int64_t>(1, s.kv_heads / parts);
  if (dim.axis == Axis::kv_heads) { return kv; }
  if (dim.axis == Axis::qkv) { return s.heads / parts + 2 * kv; }
  return part(dim.size, parts);
}

/// Rows of an expert: this rank's tokens' and those of all that send theirs.
std::int64_t rows_of_expert(std::int64_t whole, const Sharding& s, bool apart) {
  const ExpertSharding& e = s.experts;
  const std::int64_t cut = std::int64_t{s.context} * (e.cuts_tokens ? s.tensor : 1);
  const std::int64_t senders = std::int64_t{e.ranks} * (e.cuts_tokens && !apart ? e.tensor : 1);
  return part(whole * senders, cut);
}

std::int64_t resized(const Dim& dim, const Sharding& s, const Division& d) {
  switch (dim.axis) {
    case Axis::sequence: return part(dim.size * d.together, d.sequence);
    case Axis::key_sequence: return part(dim.size, d.keys);
    case Axis::expert: return part(dim.size, s.experts.ranks);
    case Axis::slots: return rows_of_expert(dim.size, s, d.rows_apart);
    case Axis::expert_ffn:
    case Axis::gate_expert_ffn: return part(dim.size, s.experts.tensor);
    default: return is_divided(dim.axis) ? divided(dim, s, d.features) : dim.size;
  }
}

Shape resized(Shape shape, const Sharding& s, const Division& d) {
  for (Dim& dim : shape) { dim.size = resized(dim, s, d); }
  return shape;
}

/// `outside`: not in the region that tensor parallelism divides.
Division division(const Sharding& s, bool outside) {
  const std::int64_t cut = s.sequence_parallel && outside ? s.tensor : 1;
  const bool ring = s.attention == ContextAttention::ring;
  return {s.tensor, s.context * cut, ring ? s.context : 1};
}

Op resized(Op op, const Sharding& s) {
  Division d = division(s, !is_split(op.space));
  if (op.part == models::Part::attention_core && s.attention == ContextAttention::ulysses) {
    d = {std::int64_t{s.tensor} * s.context, 1, 1};
  }
  if (op.part == models::Part::dispatch || op.part == models::Part::combine) {
    d.sequence = std::int64_t{s.context} * (s.experts.cuts_tokens ? s.tensor : 1);
    d.together = s.experts.gathers ? s.experts.ranks : 1;
    d.rows_apart = true;
  }
  op.space = resized(std::move(op.space), s, d);
  for (auto* operands : {&op.inputs, &op.weights, &op.outputs}) {
    for (models::Operand& operand : *operands) {
      operand.shape = resized(std::move(operand.shape), s, d);
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

/// Collectives of an operator over the ranks that split it.
class CommsMaker {
 public:
  CommsMaker(const OpGraph& graph, const Sharding& s) : graph_(graph), s_(s) {}

  TensorComms make() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const auto id = static_cast<models::OpId>(i);
      if (s_.tensor == 1 || !is_split(op.space)) { continue; }
      if (op.kind == OpKind::cross_entropy) {
        add_loss_comms(op, id);
      } else {
        add_output_comms(id);
        add_input_comms(id);
      }
    }
    if (s_.context > 1) { add_context_comms(); }
    add_expert_comms(graph_, s_, comms_);
    return std::move(comms_);
  }

 private:
  OpComm over_tensor(models::OpId op, CollectiveOp kind, Bytes size) const {
    return {op, {kind, {GroupAxis::tensor, s_.tensor}, Stream::tp, size}};
  }
  OpComm over_context(models::OpId op, CollectiveOp kind, Bytes size) const {
    return {op, {kind, {GroupAxis::replica, s_.context}, Stream::cp, size}};
  }
  CollectiveOp sum() const {
    return s_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  }

  /// Cross entropy over a divided vocabulary: the maximum, the label's logit and the sum of
  /// exponentials, one fp32 each for every token.
  void add_loss_comms(const Op& op, models::OpId id) {
    const std::int64_t tokens =
        models::elements(Shape(op.space.begin(), op.space.end() - op.reduced));
    for (int i = 0; i < 3; ++i) {
      comms_.after_forward.push_back(over_tensor(id, CollectiveOp::all_reduce, tokens * Bytes{4}));
    }
  }

  /// Partial results are added up; the gradient of a scattered sum has to be gathered first.
  void add_output_comms(models::OpId id) {
    const Op& op = graph_.ops[static_cast<std::size_t>(id)];
    if (!sums_over_split(op)) { return; }
    const Bytes size = operand_size(graph_, op.outputs.front());
    comms_.after_forward.push_back(over_tensor(id, sum(), size));
    if (s_.sequence_parallel) {
      comms_.before_backward.push_back(over_tensor(id, CollectiveOp::all_gather, size));
    }
  }

  /// An input that all ranks read whole gets its gradient in parts.
  void add_input_comms(models::OpId id) {
    const Op& op = graph_.ops[static_cast<std::size_t>(id)];
    const models::Operand* whole = whole_input(graph_, op);
    if (whole == nullptr || !keeps_split(op) || !op.input_needs_gradient) { return; }
    const Bytes size = operand_size(graph_, *whole);
    if (s_.sequence_parallel) {
      comms_.before_forward.push_back(over_tensor(id, CollectiveOp::all_gather, size));
    }
    comms_.after_backward_input.push_back(over_tensor(id, sum(), gradient_size(graph_, *whole)));
  }

  /// What the attention core reads of the other context ranks' keys and values, or their heads. A
  /// ring's rounds are not among it.
  void add_context_comms() {
    for (const CoreOps& core : attention_cores(graph_)) {
      const Bytes keys = 2 * core.keys;
      if (s_.attention == ContextAttention::all_gather) {
        comms_.before_forward.push_back(over_context(core.first, CollectiveOp::all_gather, keys));
        comms_.before_backward.push_back(over_context(core.last, CollectiveOp::all_gather, keys));
        comms_.after_backward_input.push_back(
            over_context(core.first, CollectiveOp::reduce_scatter, keys));
      } else if (s_.attention == ContextAttention::ulysses) {
        const Bytes in = core.queries + keys;
        const Bytes out = core.queries;  // the context has the queries' shape
        comms_.before_forward.push_back(over_context(core.first, CollectiveOp::all_to_all, in));
        comms_.after_forward.push_back(over_context(core.last, CollectiveOp::all_to_all, out));
        comms_.before_backward.push_back(over_context(core.last, CollectiveOp::all_to_all, out));
        comms_.after_backward_input.push_back(
            over_context(core.first, CollectiveOp::all_to_all, in));
      }
    }
  }

  const OpGraph& graph_;
  const Sharding& s_;
  TensorComms comms_;
};

/// Ids, labels and masks are given to every rank as its operators read them.
void hold_what_is_read(OpGraph& part) {
  for (const Op& op : part.ops) {
    for (const models::Operand& in : op.inputs) {
      models::Tensor& tensor = part.tensors[static_cast<std::size_t>(in.tensor)];
      const bool larger = models::elements(in.shape) > models::elements(tensor.shape);
      if (tensor.role == models::Role::index && larger) { tensor.shape = in.shape; }
    }
  }
}

/// Of the experts' results each rank keeps the rows that it sends back.
void hold_what_is_combined(OpGraph& part) {
  for (const Op& op : part.ops) {
    if (op.kind != OpKind::combine) { continue; }
    const models::Operand& rows = op.inputs.front();
    part.tensors[static_cast<std::size_t>(rows.tensor)].shape = rows.shape;
  }
}

}  // namespace

std::vector<CoreOps> attention_cores(const OpGraph& graph) {
  std::vector<CoreOps> cores;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.part != models::Part::attention_core) { continue; }
    const auto id = static_cast<models::OpId>(i);
    if (cores.empty() || cores.back().last + 1 != id) {
      cores.push_back({.first = id,
                       .queries = operand_size(graph, op.inputs[0]),
                       .keys = operand_size(graph, op.inputs[1])});
    }
    cores.back().last = id;
  }
  return cores;
}

bool is_split(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return is_divided(d.axis); });
}

OpGraph shard(const OpGraph& graph, const Sharding& s) {
  assert(s.tensor >= 1 && s.context >= 1);
  const bool whole = s.tensor == 1 && s.context == 1 && s.experts.ranks == 1;
  if (whole && s.experts.tensor == 1) { return graph; }
  OpGraph part = graph;
  for (Op& op : part.ops) { op = resized(std::move(op), s); }
  for (models::Tensor& tensor : part.tensors) {
    const bool outside = tensor.role != models::Role::weight && !is_split(tensor.shape);
    tensor.shape = resized(std::move(tensor.shape), s, division(s, outside));
  }
  hold_what_is_read(part);
  hold_what_is_combined(part);
  return part;
}

TensorComms tensor_comms(const OpGraph& sharded, const Sharding& s) {
  return CommsMaker(sharded, s).make();
}

}  // namespace tsim::strategies
