#include "strategies/block_memory.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace tsim::strategies {
namespace {

using models::Op;
using models::OpGraph;
using models::Tensor;
using models::TensorId;

const Tensor& tensor_at(const OpGraph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

bool holds(const std::vector<TensorId>& ids, TensorId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const Op* producer(const OpGraph& graph, TensorId id) {
  const models::OpId op = tensor_at(graph, id).producer;
  return op == models::kNoOp ? nullptr : &graph.ops[static_cast<std::size_t>(op)];
}

/// A tensor over the vocabulary, or any that the loss keeps.
bool is_logits(const OpGraph& graph, TensorId id) {
  const Op* made_by = producer(graph, id);
  return made_by != nullptr && (made_by->part == models::Part::loss ||
                                models::has_axis(tensor_at(graph, id).shape, models::Axis::vocab));
}

Bytes operand_bytes(const OpGraph& graph, const std::vector<models::Operand>& operands) {
  Bytes sum;
  for (const models::Operand& o : operands) {
    const Tensor& t = tensor_at(graph, o.tensor);
    if (t.role != models::Role::index) {
      sum += models::elements(o.shape) * Bytes{models::size_of(t.dtype)};
    }
  }
  return sum;
}

/// Largest operator's outputs that nobody keeps: what a forward needs beyond what it saves.
Bytes forward_workspace(const OpGraph& graph, const std::vector<TensorId>& saved) {
  Bytes largest;
  for (const Op& op : graph.ops) {
    Bytes sum;
    for (const models::Operand& o : op.outputs) {
      if (!holds(saved, o.tensor)) { sum += models::size_of(tensor_at(graph, o.tensor)); }
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Gradients of an operator's outputs and inputs, of the operator where they are largest.
Bytes backward_workspace(const OpGraph& graph) {
  Bytes largest;
  for (const Op& op : graph.ops) {
    const Bytes gradients = operand_bytes(graph, op.outputs) +
                            (op.input_needs_gradient ? operand_bytes(graph, op.inputs) : Bytes{});
    largest = std::max(largest, gradients);
  }
  return largest;
}

/// The one operator that reads `id`, once; null when there are none or several.
const Op* only_reader(const OpGraph& graph, TensorId id) {
  const Op* reader = nullptr;
  for (const Op& op : graph.ops) {
    const auto reads = std::count_if(op.inputs.begin(), op.inputs.end(),
                                     [id](const models::Operand& in) { return in.tensor == id; });
    if (reads == 0) { continue; }
    if (reader != nullptr || reads > 1) { return nullptr; }
    reader = &op;
  }
  return reader;
}

/// Where the gradient of a tensor comes from unchanged: through an addition or a bias.
TensorId gradient_source(const OpGraph& graph, TensorId id) {
  for (const Op* reader = only_reader(graph, id); reader != nullptr;
       reader = only_reader(graph, id)) {
    const bool adds = reader->kind == models::OpKind::residual_add;
    const bool biases = reader->kind == models::OpKind::bias && reader->inputs.front().tensor == id;
    if (!adds && !biases) { break; }
    id = reader->outputs.front().tensor;
  }
  return id;
}

/// Bytes of one kind, counted once a tensor (or slice of one).
class Distinct {
 public:
  explicit Distinct(const OpGraph& graph) : graph_(graph) {}
  /// `shape` of tensor `id`, or of its gradient.
  Bytes add(TensorId id, const models::Shape& shape, bool gradient) {
    if (!seen_.insert({id, gradient, models::elements(shape)}).second) { return {}; }
    return models::elements(shape) * Bytes{models::size_of(tensor_at(graph_, id).dtype)};
  }

 private:
  const OpGraph& graph_;
  std::set<std::tuple<TensorId, bool, std::int64_t>> seen_;
};

}  // namespace

Recompute recompute_of(models::BlockKind kind, const Strategy& strategy) {
  const bool layer = kind == models::BlockKind::layer || kind == models::BlockKind::decoder_layer;
  return layer ? strategy.recompute : Recompute::none;
}

void add_memory(const OpGraph& graph, const Remade& remade, models::Fusion fusion,
                BlockPlan& plan) {
  Bytes kept;
  Bytes again;  // saved only while the backward runs
  const auto add = [&](const std::vector<TensorId>& ids, Bytes& sum) {
    for (const TensorId id : ids) {
      (is_logits(graph, id) ? plan.logits : sum) += models::size_of(tensor_at(graph, id));
    }
  };
  add(remade.kept, kept);
  add(remade.made_again, again);
  plan.activations = kept;
  plan.forward_workspace = forward_workspace(graph, models::saved_tensors(graph, fusion));
  plan.recomputed = again;
  plan.backward_workspace = backward_workspace(graph) + again;
  if (graph.output >= 0) { plan.output = models::size_of(tensor_at(graph, graph.output)); }
  if (graph.memory >= 0) { plan.memory = models::size_of(tensor_at(graph, graph.memory)); }
}

void add_weight_memory(const OpGraph& graph, const std::vector<models::Kernel>& kernels,
                       BlockPlan& plan) {
  Distinct distinct(graph);
  std::vector<models::OpId> ops;
  for (const models::Kernel& kernel : kernels) {
    std::copy_if(kernel.ops.begin(), kernel.ops.end(), std::back_inserter(ops),
                 [&graph](models::OpId id) {
                   return !graph.ops[static_cast<std::size_t>(id)].weights.empty();
                 });
  }
  for (const models::OpId id : ops) {
    const Op& op = graph.ops[static_cast<std::size_t>(id)];
    for (const models::Operand& in : op.inputs) {
      if (!holds(op.saved, in.tensor)) { continue; }
      plan.weight_activations += distinct.add(in.tensor, tensor_at(graph, in.tensor).shape, false);
    }
    for (const models::Operand& out : op.outputs) {
      Bytes& sum = is_logits(graph, out.tensor) ? plan.weight_logits : plan.weight_activations;
      sum += distinct.add(gradient_source(graph, out.tensor), out.shape, true);
    }
  }
}

}  // namespace tsim::strategies
