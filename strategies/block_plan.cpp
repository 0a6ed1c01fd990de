#include "strategies/block_plan.hpp"

#include <algorithm>
#include <utility>

#include "strategies/block_memory.hpp"
#include "strategies/block_pieces.hpp"
#include "strategies/message_copies.hpp"
#include "strategies/shadows.hpp"

namespace tsim::strategies {
namespace {

using models::Kernel;
using models::OpGraph;
using models::OpId;

BlockWeights block_weights(const PieceContext& c, std::int64_t persistence) {
  const OpGraph& graph = c.block.graph;
  BlockWeights weights;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role != models::Role::weight || graph.tensors[i].frozen) { continue; }
    const std::int64_t elements = models::elements(graph.tensors[i].shape);
    if (is_word_embedding(graph, static_cast<models::TensorId>(i))) {
      weights.embedding += elements;
      continue;
    }
    weights.own += elements;
    ++weights.tensors;
    if (c.experts_apart && is_of_experts(graph.tensors[i])) {
      weights.experts += elements;
      continue;
    }
    if (elements < persistence) { weights.small += elements; }
  }
  return weights;
}

FrozenWeights frozen_weights(const PieceContext& c, std::int64_t persistence) {
  FrozenWeights frozen;
  for (std::size_t i = 0; i < c.block.graph.tensors.size(); ++i) {
    const models::Tensor& tensor = c.block.graph.tensors[i];
    if (tensor.role != models::Role::weight || !tensor.frozen) { continue; }
    const std::int64_t elements = models::elements(tensor.shape);
    if (is_word_embedding(c.block.graph, static_cast<models::TensorId>(i))) {
      frozen.embedding += elements;
      continue;
    }
    frozen.elements += elements;
    ++frozen.tensors;
    const bool apart = c.experts_apart && is_of_experts(tensor);
    if (apart) { frozen.experts.elements += elements; }
    if (!apart && elements < persistence) { frozen.whole += elements; }
  }
  const WeightClass dense = c.experts_apart ? WeightClass::dense : WeightClass::all;
  frozen.shapes = weight_shapes(c.block.graph, dense, true);
  if (c.experts_apart) {
    frozen.experts.shapes = weight_shapes(c.block.graph, WeightClass::experts, true);
  }
  return frozen;
}

/// The parts of a layer's input that its tensor ranks keep are put together again.
///   [arXiv:1910.02054, sec. 6.1]
void gather_input(const OpGraph& graph, int tensor, std::vector<Piece>& again) {
  if (graph.input < 0) { return; }
  const Bytes size = models::size_of(graph.tensors[static_cast<std::size_t>(graph.input)]);
  again.insert(
      again.begin(),
      comm_piece(PieceKind::comm, Phase::recompute,
                 {cost::CollectiveOp::all_gather, {GroupAxis::tensor, tensor}, Stream::tp, size}));
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

/// A kernel for each weight reads its gradient and the sum so far, and writes the sum.
std::vector<Piece> accumulation(const OpGraph& graph, const Precision& precision, Phase phase,
                                const cost::Device& device) {
  Piece piece;
  piece.phase = phase;
  for (const models::Tensor& tensor : graph.tensors) {
    if (tensor.role != models::Role::weight || tensor.frozen) { continue; }
    const std::int64_t moved = size_of(kept_weights(precision)) + 2 * size_of(precision.gradient);
    const Bytes bytes = models::elements(tensor.shape) * Bytes{moved};
    piece.on_device +=
        bytes / (device.elementwise_bandwidth * device.memory_bandwidth) + device.launch;
    ++piece.launches;
  }
  if (piece.launches == 0) { return {}; }
  return {piece};
}

bool has_vocabulary(models::BlockKind kind) {
  return kind == models::BlockKind::embedding || kind == models::BlockKind::head;
}

/// What lies divided along the sequence between blocks enters the head whole, and so does the
/// gradient that enters the embedding's backward.
void gather_sequence(const models::Block& block, int tensor, BlockPlan& plan) {
  const models::TensorId id =
      block.kind == models::BlockKind::head ? block.graph.input : block.graph.output;
  if (id < 0 || tensor == 1) { return; }
  const Bytes size = models::size_of(block.graph.tensors[static_cast<std::size_t>(id)]);
  const Communication gather{
      cost::CollectiveOp::all_gather, {GroupAxis::tensor, tensor}, Stream::tp, size};
  const auto begin = [&](std::vector<Piece>& pieces, Phase phase) {
    pieces.insert(pieces.begin(), comm_piece(PieceKind::comm, phase, gather));
  };
  if (block.kind == models::BlockKind::head) {
    begin(plan.forward, Phase::forward);
    return;
  }
  if (plan.backward.empty()) { return; }  // nothing in it is trained
  begin(plan.backward, Phase::backward);
  begin(plan.input_grad, Phase::input_grad);
}

/// Shadowed experts stay until their backward, which makes their gradients.
void add_shadow_memory(const OpGraph& graph, std::int64_t shadows, Recompute recompute,
                       BlockPlan& plan) {
  const Bytes experts = shadows * bytes_of_expert(graph);
  if (recompute != Recompute::full) { plan.activations += experts; }
  plan.backward_workspace += recompute == Recompute::full ? 2 * experts : experts;
}

std::vector<Piece> joined(std::vector<Piece> first, const std::vector<Piece>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

ShardedBlock split_block(const models::Block& block, const TensorSplit& split,
                         const Strategy& strategy) {
  if (strategy.vocabulary_parallel || !has_vocabulary(block.kind)) {
    return shard_block(block.graph, split);
  }
  TensorSplit alone = split;
  alone.sharding.tensor = 1;
  alone.sharding.sequence_parallel = false;
  ShardedBlock whole = shard_block(block.graph, alone);
  std::ranges::fill(whole.repeats, split.sharding.tensor);
  return whole;
}

BlockPlan plan_block(const models::Block& block, const TensorSplit& split, const Strategy& strategy,
                     const cost::Device& device) {
  const bool whole = !strategy.vocabulary_parallel && has_vocabulary(block.kind);
  const ShardedBlock sharded = split_block(block, split, strategy);
  const OpGraph& graph = sharded.graph;
  const auto shadows = std::ssize(split.sharding.experts.shadow_owners);
  const models::BlockKernels kernels =
      models::kernels(shadows > 0 ? with_shadows(graph, shadows) : graph, strategy.fusion);
  const PieceContext context{sharded,
                             device,
                             strategy.overlap_tensor,
                             strategy.tensor_chunks,
                             split.sharding,
                             spreads_experts(strategy),
                             strategy.experts.chunks};
  const Recompute recompute = recompute_of(block.kind, strategy);

  const auto aligned = [&](std::vector<Piece> pieces) {
    return with_message_copies(std::move(pieces), strategy, device);
  };

  BlockPlan plan;
  plan.forward = aligned(forward_pieces(kernels.forward, context, Phase::forward));
  const Remade remade = strategies::remade(graph, recompute, strategy);
  std::vector<Piece> again =
      aligned(forward_pieces(kernels_again(kernels.forward, remade), context, Phase::recompute));
  if (strategy.partition_activations && recompute == Recompute::full) {
    gather_input(graph, strategy.tensor, again);
  }
  plan.again = again;
  plan.backward = joined(again, aligned(backward_pieces(kernels, context, Gradients::all)));
  plan.input_grad = joined(again, aligned(backward_pieces(kernels, context, Gradients::of_inputs)));
  plan.weight_grad = backward_pieces(kernels, context, Gradients::of_weights);
  if (whole && strategy.sequence_parallel) { gather_sequence(block, strategy.tensor, plan); }
  if (strategy.eager_accumulation) {
    const auto added = [&](Phase phase) {
      return accumulation(graph, strategy.precision, phase, device);
    };
    plan.backward_added = joined(plan.backward, added(Phase::backward));
    plan.weight_grad_added = joined(plan.weight_grad, added(Phase::weight_grad));
  }
  plan.weights = block_weights(context, strategy.zero.persistence);
  plan.frozen = frozen_weights(context, strategy.zero.persistence);
  const bool apart = spreads_experts(strategy);
  plan.shapes = weight_shapes(graph, apart ? WeightClass::dense : WeightClass::all);
  if (apart) { plan.experts = {plan.weights.experts, weight_shapes(graph, WeightClass::experts)}; }
  plan.word_embedding = word_embedding(graph);
  plan.shared = sharded.shared;
  add_memory(graph, remade, strategy.fusion, plan);
  if (strategy.partition_activations && recompute == Recompute::full) {
    plan.activations = part_of(plan.activations, strategy.tensor);
  }
  add_shadow_memory(graph, shadows, recompute, plan);
  add_weight_memory(graph, kernels.backward_weight, plan);
  if (block.kind == models::BlockKind::head) { chunk_loss(strategy.loss_chunks, plan); }
  return plan;
}

}  // namespace tsim::strategies
