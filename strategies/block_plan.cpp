#include "strategies/block_plan.hpp"

#include <algorithm>
#include <set>

#include "cost/roofline.hpp"
#include "strategies/block_memory.hpp"

namespace tsim::strategies {
namespace {

using models::Kernel;
using models::OpGraph;
using models::OpId;

/// Everything that the piece makers read.
struct Context {
  const OpGraph& graph;
  const TensorComms& comms;
  const cost::Device& device;
  bool overlap_tensor;
  RankGroup tensor;  // the ranks that split the block
};

bool contains(const std::vector<OpId>& ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

Piece compute_piece(const Kernel& kernel, const cost::Device& device, Phase phase) {
  Piece piece;
  piece.phase = phase;
  piece.on_device = cost::kernel_time(kernel, device);
  piece.launches = 1;
  piece.hardware_flops = kernel.cls == models::OpClass::contraction ? kernel.flops : Flops{};
  return piece;
}

/// Communications of the operators `ops` over the ranks that split the block.
struct CommsOf {
  const std::vector<OpComm>& comms;
  const std::vector<OpId>& ops;
};

void add_comms(const CommsOf& of, const Context& c, Phase phase, std::vector<Piece>& pieces,
               PieceKind kind = PieceKind::comm) {
  for (const OpComm& comm : of.comms) {
    if (!contains(of.ops, comm.op)) { continue; }
    pieces.push_back(comm_piece(kind, phase, {comm.kind, c.tensor, Stream::tp, comm.size}));
  }
}

std::vector<Piece> forward_pieces(const std::vector<Kernel>& kernels, const Context& c,
                                  Phase phase) {
  std::vector<Piece> pieces;
  for (const Kernel& kernel : kernels) {
    add_comms({c.comms.before_forward, kernel.ops}, c, phase, pieces);
    Piece piece = compute_piece(kernel, c.device, phase);
    if (phase == Phase::forward && kernel.cls == models::OpClass::contraction) {
      for (const OpId op : kernel.ops) {
        const models::Op& o = c.graph.ops[static_cast<std::size_t>(op)];
        if (o.cls == models::OpClass::contraction) { piece.model_flops += model_flops(o); }
      }
    }
    pieces.push_back(piece);
    add_comms({c.comms.after_forward, kernel.ops}, c, phase, pieces);
  }
  return pieces;
}

bool is_word_embedding(const OpGraph& graph, models::TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)].name == "embedding.word";
}

/// Adds the weights of `op` to the gradients that are complete at the end of `piece`: whole
/// tensors, of which a lookup reads some rows only.
void add_gradients(const OpGraph& graph, OpId op, Piece& piece) {
  for (const models::Operand& w : graph.ops[static_cast<std::size_t>(op)].weights) {
    (is_word_embedding(graph, w.tensor) ? piece.embedding_gradients : piece.gradients) +=
        models::elements(graph.tensors[static_cast<std::size_t>(w.tensor)].shape);
  }
}

/// `share` of the forward's model FLOPs of the contractions that `kernel` belongs to.
Flops backward_model_flops(const OpGraph& graph, const Kernel& kernel, double share) {
  Flops sum;
  for (const OpId op : kernel.ops) {
    const models::Op& o = graph.ops[static_cast<std::size_t>(op)];
    if (o.cls != models::OpClass::contraction) { continue; }
    sum += share * model_flops(o);
  }
  return sum;
}

/// The kernels that make one operator's gradients: of its inputs (two products for an attention
/// product, whose operands are both activations) and of its weights.
struct GradientKernels {
  std::vector<const Kernel*> inputs;
  std::vector<const Kernel*> weights;
};

GradientKernels gradient_kernels(const models::BlockKernels& kernels, OpId op) {
  const auto ending_at = [op](const std::vector<Kernel>& list) {
    std::vector<const Kernel*> found;
    for (const Kernel& k : list) {
      if (*std::max_element(k.ops.begin(), k.ops.end()) == op) { found.push_back(&k); }
    }
    return found;
  };
  return {ending_at(kernels.backward_input), ending_at(kernels.backward_weight)};
}

/// The backward's pieces, each compute piece with the operators that its kernel runs.
struct BackwardPieces {
  std::vector<Piece> pieces;
  std::vector<const Kernel*> kernels;  // by piece; null for communication

  void add(const Piece& piece, const Kernel* kernel) {
    pieces.push_back(piece);
    kernels.push_back(kernel);
  }
  void add_comms(const CommsOf& of, const Context& c, Phase phase, PieceKind kind) {
    strategies::add_comms(of, c, phase, pieces, kind);
    kernels.resize(pieces.size(), nullptr);
  }
};

/// What a program of the backward computes.
enum class Gradients : std::uint8_t { all, of_inputs, of_weights };

/// The kernels of the weights' gradients, nothing else.
void add_weight_grads(const GradientKernels& kernels, const Context& c, BackwardPieces& out) {
  for (const Kernel* w : kernels.weights) {
    Piece piece = compute_piece(*w, c.device, Phase::weight_grad);
    piece.model_flops = backward_model_flops(c.graph, *w, 1.0);
    out.add(piece, w);
  }
}

/// Kernels of the inputs' gradients with the communication around them, then the weights'.
void add_backward(const GradientKernels& kernels, const Context& c, Gradients which,
                  BackwardPieces& out) {
  std::vector<OpId> ops;
  for (const auto* list : {&kernels.inputs, &kernels.weights}) {
    for (const Kernel* k : *list) { ops.insert(ops.end(), k->ops.begin(), k->ops.end()); }
  }
  const bool all = which == Gradients::all;
  const Phase phase = all ? Phase::backward : Phase::input_grad;
  out.add_comms({c.comms.before_backward, ops}, c, phase, PieceKind::comm);
  // An operator's backward is twice its forward: half for the weights, or all for the inputs.
  const auto products =
      std::count_if(kernels.inputs.begin(), kernels.inputs.end(),
                    [](const Kernel* k) { return k->cls == models::OpClass::contraction; });
  const double input_share =
      (kernels.weights.empty() ? 2.0 : 1.0) / std::max(1.0, static_cast<double>(products));
  for (const Kernel* k : kernels.inputs) {
    Piece piece = compute_piece(*k, c.device, phase);
    if (k->cls == models::OpClass::contraction) {
      piece.model_flops = backward_model_flops(c.graph, *k, input_share);
    }
    out.add(piece, k);
  }
  const bool overlap = all && c.overlap_tensor && !kernels.weights.empty();
  const std::size_t before = out.pieces.size();
  out.add_comms({c.comms.after_backward_input, ops}, c, phase,
                overlap ? PieceKind::async_comm : PieceKind::comm);
  if (!all) { return; }
  const bool beside = overlap && out.pieces.size() > before;
  for (const Kernel* w : kernels.weights) {
    Piece piece = compute_piece(*w, c.device, Phase::backward);
    piece.model_flops = backward_model_flops(c.graph, *w, 1.0);
    out.add(piece, w);
  }
  if (beside) { out.add(join_piece(Phase::backward), nullptr); }
}

/// A weight's gradient is complete after the last kernel of its operator that is listed.
void mark_gradients(const OpGraph& graph, BackwardPieces& backward) {
  std::set<OpId> seen;
  for (std::size_t i = backward.pieces.size(); i-- > 0;) {
    if (backward.kernels[i] == nullptr) { continue; }
    for (const OpId op : backward.kernels[i]->ops) {
      if (seen.insert(op).second) { add_gradients(graph, op, backward.pieces[i]); }
    }
  }
}

/// Gradients that the inputs' kernels make besides (of a norm's weights) are handed over with the
/// first of the others.
void add_unmarked_gradients(const OpGraph& graph, BackwardPieces& weights) {
  std::set<OpId> marked;
  for (const Kernel* k : weights.kernels) { marked.insert(k->ops.begin(), k->ops.end()); }
  Piece rest;
  rest.phase = Phase::weight_grad;
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (!marked.contains(op)) { add_gradients(graph, op, rest); }
  }
  if (weights.pieces.empty()) { weights.pieces.push_back(rest); }
  weights.pieces.front().gradients += rest.gradients;
  weights.pieces.front().embedding_gradients += rest.embedding_gradients;
}

std::vector<Piece> backward_pieces(const models::BlockKernels& kernels, const Context& c,
                                   Gradients which) {
  BackwardPieces backward;
  for (auto op = static_cast<OpId>(c.graph.ops.size()) - 1; op >= 0; --op) {
    const GradientKernels of_op = gradient_kernels(kernels, op);
    if (which == Gradients::of_weights) {
      add_weight_grads(of_op, c, backward);
    } else {
      add_backward(of_op, c, which, backward);
    }
  }
  if (which != Gradients::of_inputs) { mark_gradients(c.graph, backward); }
  if (which == Gradients::of_weights) { add_unmarked_gradients(c.graph, backward); }
  return backward.pieces;
}

BlockWeights block_weights(const OpGraph& graph, std::int64_t persistence) {
  BlockWeights weights;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role != models::Role::weight) { continue; }
    const std::int64_t elements = models::elements(graph.tensors[i].shape);
    if (is_word_embedding(graph, static_cast<models::TensorId>(i))) {
      weights.embedding += elements;
      continue;
    }
    weights.own += elements;
    if (elements < persistence) { weights.small += elements; }
  }
  return weights;
}

std::vector<Kernel> core_kernels(const std::vector<Kernel>& kernels) {
  std::vector<Kernel> core;
  for (const Kernel& k : kernels) {
    if (k.part == models::Part::attention_core) { core.push_back(k); }
  }
  return core;
}

/// The parts of a layer's input that its tensor ranks keep are put together again.
///   [arXiv:1910.02054, sec. 6.1]
void gather_input(const OpGraph& graph, const Context& c, std::vector<Piece>& again) {
  if (graph.input < 0) { return; }
  const Bytes size = models::size_of(graph.tensors[static_cast<std::size_t>(graph.input)]);
  again.insert(again.begin(),
               comm_piece(PieceKind::comm, Phase::recompute,
                          {cost::CollectiveOp::all_gather, c.tensor, Stream::tp, size}));
}

Bytes part_of(Bytes whole, int parts) { return Bytes{(whole.value + parts - 1) / parts}; }

/// Logits and their gradients are made for a part of the tokens at a time; kernels' total time is
/// taken to stay what it is.
void chunk_loss(int chunks, BlockPlan& plan) {
  for (Bytes* bytes :
       {&plan.logits, &plan.weight_logits, &plan.forward_workspace, &plan.backward_workspace}) {
    *bytes = part_of(*bytes, chunks);
  }
}

std::vector<Piece> joined(std::vector<Piece> first, const std::vector<Piece>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

BlockPlan plan_block(const models::Block& block, const Sharding& sharding, const Strategy& strategy,
                     const cost::Device& device) {
  const OpGraph graph = shard(block.graph, sharding);
  const TensorComms comms = tensor_comms(graph, sharding);
  const models::BlockKernels kernels = models::kernels(graph, strategy.fusion);
  const Context context{
      graph, comms, device, strategy.overlap_tensor, {GroupAxis::tensor, strategy.tensor}};
  const Recompute recompute = recompute_of(block.kind, strategy);

  BlockPlan plan;
  plan.forward = forward_pieces(kernels.forward, context, Phase::forward);
  std::vector<Piece> again;
  if (recompute == Recompute::full) {
    again = forward_pieces(kernels.forward, context, Phase::recompute);
  } else if (recompute == Recompute::selective) {
    again = forward_pieces(core_kernels(kernels.forward), context, Phase::recompute);
  }
  if (strategy.partition_activations && recompute == Recompute::full) {
    gather_input(graph, context, again);
  }
  plan.again = again;
  plan.backward = joined(again, backward_pieces(kernels, context, Gradients::all));
  plan.input_grad = joined(again, backward_pieces(kernels, context, Gradients::of_inputs));
  plan.weight_grad = backward_pieces(kernels, context, Gradients::of_weights);
  plan.weights = block_weights(graph, strategy.zero.persistence);
  add_memory(graph, recompute, strategy.fusion, plan);
  if (strategy.partition_activations && recompute == Recompute::full) {
    plan.activations = part_of(plan.activations, strategy.tensor);
  }
  if (block.kind == models::BlockKind::head) { chunk_loss(strategy.loss_chunks, plan); }
  add_weight_memory(graph, kernels.backward_weight, plan);
  return plan;
}

}  // namespace tsim::strategies
