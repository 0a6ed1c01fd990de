#include "strategies/block_pieces.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "strategies/ring_attention.hpp"
#include "strategies/tensor/expert_chunks.hpp"
#include "strategies/tensor/kernel_parts.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {
namespace {

using models::Kernel;
using models::OpGraph;
using models::OpId;

bool contains(const std::vector<OpId>& ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

const models::Op& op_at(const OpGraph& graph, OpId op) {
  return graph.ops[static_cast<std::size_t>(op)];
}

/// What `ops` communicate.
std::vector<Communication> comms_of(const std::vector<ShardComm>& comms,
                                    const std::vector<OpId>& ops) {
  std::vector<Communication> found;
  for (const ShardComm& c : comms) {
    if (contains(ops, c.op)) { found.push_back(over_run(c)); }
  }
  return found;
}

/// The panels of the product that `kernel` runs, if there are any.
const PanelledProduct* panels_of(const std::vector<PanelledProduct>& products,
                                 const Kernel& kernel) {
  if (kernel.kind != models::OpKind::matmul && kernel.kind != models::OpKind::embedding) {
    return nullptr;
  }
  for (const PanelledProduct& p : products) {
    if (contains(kernel.ops, p.op)) { return &p; }
  }
  return nullptr;
}

/// `share` of the forward's model FLOPs of the contractions that `kernel` belongs to; what several
/// ranks do alike counts once.
Flops model_flops_of(const ShardedBlock& block, const Kernel& kernel, double share) {
  Flops sum;
  for (const OpId op : kernel.ops) {
    const models::Op& o = op_at(block.graph, op);
    if (o.cls != models::OpClass::contraction) { continue; }
    sum += share / block.repeats[static_cast<std::size_t>(op)] * model_flops(o);
  }
  return sum;
}

bool is_ring_core(const Kernel& kernel, const PieceContext& c) {
  return c.sharding.context > 1 && c.sharding.attention == ContextAttention::ring &&
         kernel.part == models::Part::attention_core;
}

/// The rounds of a ring of context ranks.
void add_ring(const Kernel& kernel, const PieceContext& c, const PartRules& rules,
              std::vector<Piece>& pieces) {
  Piece piece = kernel_piece(kernel, c.device, rules.phase);
  piece.model_flops = rules.model_flops;
  const bool backward = rules.phase == Phase::backward || rules.phase == Phase::input_grad;
  const std::vector<Piece> round =
      ring_pieces(piece, kernel, {c.block.graph, c.sharding, c.device, backward});
  pieces.insert(pieces.end(), round.begin(), round.end());
}

Flops forward_flops(const Kernel& kernel, const PieceContext& c, Phase phase) {
  const bool counts = phase == Phase::forward && kernel.cls == models::OpClass::contraction;
  return counts ? model_flops_of(c.block, kernel, 1.0) : Flops{};
}

/// Adds the weights of `op` to the gradients that are complete at the end of `piece`: whole
/// tensors, of which a lookup reads some rows only.
void add_gradients(const PieceContext& c, OpId op, Piece& piece) {
  const OpGraph& graph = c.block.graph;
  for (const models::Operand& w : op_at(graph, op).weights) {
    const models::Tensor& tensor = graph.tensors[static_cast<std::size_t>(w.tensor)];
    if (tensor.frozen) { continue; }
    const bool apart = c.experts_apart && is_of_experts(tensor);
    (is_word_embedding(graph, w.tensor) ? piece.embedding_gradients
     : apart                            ? piece.expert_gradients
                                        : piece.gradients) += models::elements(tensor.shape);
  }
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

void add_comms(const std::vector<Communication>& comms, Phase phase, PieceKind kind,
               KernelPieces& out) {
  for (const Communication& comm : comms) { out.add({comm_piece(kind, phase, comm)}, nullptr); }
}

/// The kernels of the weights' gradients, nothing else.
void add_weight_grads(const GradientKernels& kernels, const PieceContext& c, Phase phase,
                      KernelPieces& out) {
  for (const Kernel* w : kernels.weights) {
    const KernelComms comms{
        .before = {}, .after = {}, .panels = panels_of(c.block.weight_panels, *w)};
    const PartRules rules{.phase = phase, .model_flops = model_flops_of(c.block, *w, 1.0)};
    out.add(pieces_of(kernel_parts(*w, comms, {}), rules, c.device), w);
  }
}

/// Communication of the operators whose gradients `kernels` make.
KernelComms gradient_comms(const GradientKernels& kernels, const PieceContext& c) {
  std::vector<OpId> ops;
  for (const auto* list : {&kernels.inputs, &kernels.weights}) {
    for (const Kernel* k : *list) { ops.insert(ops.end(), k->ops.begin(), k->ops.end()); }
  }
  return {.before = comms_of(c.block.before_backward, ops),
          .after = comms_of(c.block.after_backward_input, ops)};
}

/// The kernels of the inputs' gradients: the first waits for the operator's communication, the last
/// is followed by it; `beside` as in PartRules.
void add_input_grads(const GradientKernels& kernels, const PieceContext& c, const PartRules& rules,
                     KernelPieces& out) {
  KernelComms around = gradient_comms(kernels, c);
  const bool panels =
      std::any_of(kernels.inputs.begin(), kernels.inputs.end(),
                  [&](const Kernel* k) { return panels_of(c.block.input_panels, *k) != nullptr; });
  // An operator's backward is twice its forward: half for the weights (if they are trained), or all
  // for the inputs.
  const auto products =
      std::count_if(kernels.inputs.begin(), kernels.inputs.end(),
                    [](const Kernel* k) { return k->cls == models::OpClass::contraction; });
  const bool by_weight = std::ranges::any_of(
      kernels.inputs, [](const Kernel* k) { return models::is_weight_product(k->kind); });
  const double share = (kernels.weights.empty() && !by_weight ? 2.0 : 1.0) /
                       std::max(1.0, static_cast<double>(products));
  for (std::size_t i = 0; i < kernels.inputs.size(); ++i) {
    const Kernel& k = *kernels.inputs[i];
    KernelComms comms{.before = {}, .after = {}, .panels = panels_of(c.block.input_panels, k)};
    if (i == 0) { comms.before = std::exchange(around.before, {}); }
    if (i + 1 == kernels.inputs.size()) { comms.after = std::exchange(around.after, {}); }
    PartRules part = rules;
    part.beside = panels ? -1 : rules.beside;
    const bool counts = k.cls == models::OpClass::contraction;
    part.model_flops = counts ? model_flops_of(c.block, k, share) : Flops{};
    if (is_ring_core(k, c)) {
      std::vector<Piece> rounds;
      add_ring(k, c, part, rounds);
      out.add(rounds, &k);
      continue;
    }
    const Chunking chunking{c.chunks, weights_of(c.block.graph, k)};
    out.add(pieces_of(kernel_parts(k, comms, chunking), part, c.device), &k);
  }
  add_comms(around.before, rules.phase, PieceKind::comm, out);
  add_comms(around.after, rules.phase, rules.beside >= 0 ? PieceKind::async_comm : PieceKind::comm,
            out);
}

/// Kernels of the inputs' gradients with the communication around them, then the weights'.
void add_backward(const GradientKernels& kernels, const PieceContext& c, Gradients which,
                  KernelPieces& out) {
  const bool all = which == Gradients::all;
  const Phase phase = all ? Phase::backward : Phase::input_grad;
  const bool overlap = all && c.overlap_tensor && !kernels.weights.empty();
  const std::size_t before = out.pieces.size();
  add_input_grads(kernels, c, {.phase = phase, .model_flops = {}, .beside = overlap ? 0 : -1}, out);
  if (!all) { return; }
  const bool beside = std::any_of(out.pieces.begin() + static_cast<std::ptrdiff_t>(before),
                                  out.pieces.end(), [overlap](const Piece& p) {
                                    return overlap && p.kind == PieceKind::async_comm && p.key == 0;
                                  });
  add_weight_grads(kernels, c, Phase::backward, out);
  if (beside) { out.add({join_piece(Phase::backward)}, nullptr); }
}

/// A weight's gradient is complete after the last kernel of its operator that is listed.
void mark_gradients(const PieceContext& c, KernelPieces& backward) {
  std::set<OpId> seen;
  for (std::size_t i = backward.pieces.size(); i-- > 0;) {
    if (backward.kernels[i] == nullptr) { continue; }
    for (const OpId op : backward.kernels[i]->ops) {
      if (seen.insert(op).second) { add_gradients(c, op, backward.pieces[i]); }
    }
  }
}

/// Gradients that the inputs' kernels make besides (of a norm's weights) are handed over with the
/// first of the others.
void add_unmarked_gradients(const PieceContext& c, KernelPieces& weights) {
  std::set<OpId> marked;
  for (const Kernel* k : weights.kernels) {
    if (k != nullptr) { marked.insert(k->ops.begin(), k->ops.end()); }
  }
  Piece rest;
  rest.phase = Phase::weight_grad;
  for (OpId op = 0; op < static_cast<OpId>(c.block.graph.ops.size()); ++op) {
    if (!marked.contains(op)) { add_gradients(c, op, rest); }
  }
  if (weights.pieces.empty()) { weights.pieces.push_back(rest); }
  weights.pieces.front().gradients += rest.gradients;
  weights.pieces.front().embedding_gradients += rest.embedding_gradients;
  weights.pieces.front().expert_gradients += rest.expert_gradients;
}

}  // namespace

bool is_word_embedding(const OpGraph& graph, models::TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)].name == "embedding.word";
}

std::vector<Piece> forward_pieces(const std::vector<Kernel>& kernels, const PieceContext& c,
                                  Phase phase) {
  KernelPieces list;
  for (const Kernel& kernel : kernels) {
    if (is_ring_core(kernel, c)) {
      std::vector<Piece> rounds;
      add_ring(kernel, c, {.phase = phase, .model_flops = forward_flops(kernel, c, phase)}, rounds);
      list.add(rounds, nullptr);
      continue;
    }
    const KernelComms comms{.before = comms_of(c.block.before_forward, kernel.ops),
                            .after = comms_of(c.block.after_forward, kernel.ops),
                            .panels = panels_of(c.block.forward_panels, kernel)};
    const Chunking chunking{c.chunks, weights_of(c.block.graph, kernel)};
    const PartRules rules{.phase = phase, .model_flops = forward_flops(kernel, c, phase)};
    list.add(pieces_of(kernel_parts(kernel, comms, chunking), rules, c.device), &kernel);
  }
  chunk_exchanges(list, c.block.graph, c.device, c.expert_chunks);
  return list.pieces;
}

std::vector<Piece> backward_pieces(const models::BlockKernels& kernels, const PieceContext& c,
                                   Gradients which) {
  const OpGraph& graph = c.block.graph;
  KernelPieces backward;
  for (auto op = static_cast<OpId>(graph.ops.size()) - 1; op >= 0; --op) {
    const GradientKernels of_op = gradient_kernels(kernels, op);
    if (which == Gradients::of_weights) {
      add_weight_grads(of_op, c, Phase::weight_grad, backward);
    } else {
      add_backward(of_op, c, which, backward);
    }
  }
  if (which != Gradients::of_inputs) { mark_gradients(c, backward); }
  if (which == Gradients::of_weights) { add_unmarked_gradients(c, backward); }
  chunk_exchanges(backward, graph, c.device, c.expert_chunks);
  return backward.pieces;
}

}  // namespace tsim::strategies
