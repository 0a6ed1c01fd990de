#include "strategies/block_chain.hpp"

#include <algorithm>

#include "strategies/shadows.hpp"

namespace tsim::strategies {
namespace {

using models::BlockKind;

std::vector<BlockPlan> plans_of(const models::Block& block, const TensorSplit& split,
                                const Strategy& strategy, const cost::Device& device) {
  if (!recompute_differs(strategy) || !is_layer(block.kind)) {
    return {plan_block(block, split, strategy, device)};
  }
  std::vector<BlockPlan> plans;
  Strategy with = strategy;
  std::vector<Recompute> ways{Recompute::none, Recompute::selective, Recompute::full};
  if (strategy.recompute == Recompute::operators) { ways.push_back(strategy.recompute); }
  for (const Recompute r : ways) {
    with.recompute = r;
    plans.push_back(plan_block(block, split, with, device));
  }
  return plans;
}

bool has_experts(const models::Block& block) {
  return std::ranges::any_of(
      block.graph.ops, [](const models::Op& op) { return op.kind == models::OpKind::dispatch; });
}

/// Splits of the block's copies: one for all, or one for each where experts are unlike.
std::vector<TensorSplit> splits_of(const models::Block& block, const TensorSplit& split,
                                   const RankVariant& variant, std::size_t first_layer) {
  const bool drawn = variant.draws != nullptr && !variant.draws->layers.empty();
  if (!drawn || !is_layer(block.kind) || !has_experts(block)) { return {split}; }
  std::vector<TensorSplit> splits(static_cast<std::size_t>(block.count), split);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    ExpertSharding& experts = splits[i].sharding.experts;
    const std::size_t layer = first_layer + i;
    experts.layer = static_cast<int>(layer) + 1;
    experts.load = load_of(*variant.draws, layer, experts.ranks, variant.rank);
    experts.shadow_owners = shadow_owners(*variant.draws, layer, experts.ranks);
  }
  return splits;
}

}  // namespace

Seconds unit_time(const BlockPlan& plan) {
  Seconds sum;
  for (const auto* pieces : {&plan.forward, &plan.backward}) {
    for (const Piece& piece : *pieces) { sum += piece.on_device; }
  }
  return sum;
}

void gather_first(Phase phase, Bytes size, int tensor, std::vector<Piece>& pieces) {
  const Communication gather{
      cost::CollectiveOp::all_gather, {GroupAxis::tensor, tensor}, Stream::tp, size};
  pieces.insert(pieces.begin(), comm_piece(PieceKind::comm, phase, gather));
}

void add_block_memory(const BlockPlan& b, bool elsewhere, ChunkPlan& chunk) {
  (elsewhere ? chunk.elsewhere : chunk.activations) += b.activations;
  chunk.logits += b.logits;
  chunk.weight_activations += b.weight_activations;
  chunk.weight_logits += b.weight_logits;
  chunk.forward_workspace = std::max(chunk.forward_workspace, b.forward_workspace);
  chunk.backward_workspace = std::max(chunk.backward_workspace, b.backward_workspace);
  if (b.output.value > 0) { chunk.output = b.output + b.memory; }
}

Chain make_chain(const models::Model& model, const Strategy& strategy, const cost::Device& device,
                 const RankVariant& variant) {
  Chain chain;
  const TensorSplit split =
      tensor_split(model, strategy, is_unbalanced(strategy.experts) ? -1 : variant.rank);
  int begin = 0;
  std::size_t moe_layers = 0;
  for (const models::Block& block : model.blocks) {
    const auto splits = splits_of(block, split, variant, moe_layers);
    moe_layers += is_layer(block.kind) && has_experts(block) ? splits.size() : 0;
    const auto first = static_cast<int>(chain.plans.size());
    for (const TensorSplit& of_copy : splits) {
      chain.plans.push_back(plans_of(block, of_copy, strategy, device));
      chain.kinds.push_back(block.kind);
    }
    for (int copy = 0; copy < block.count; ++copy) {
      chain.units.push_back(splits.size() > 1 ? first + copy : first);
      chain.encoder_layers += block.kind == BlockKind::layer ? 1 : 0;
      const bool layer = is_layer(block.kind);
      chain.layer_of.push_back(layer ? static_cast<int>(chain.layer_begin.size()) : -1);
      if (layer) {
        chain.layer_begin.push_back(begin);
        begin = static_cast<int>(chain.units.size());
      }
    }
  }
  return chain;
}

std::vector<double> layer_times(const Chain& chain, const Strategy& strategy) {
  std::vector<double> times(chain.layer_begin.size(), 0.0);
  std::size_t layer = 0;
  for (std::size_t unit = 0; unit < chain.units.size(); ++unit) {
    while (layer + 1 < times.size() && static_cast<int>(unit) >= chain.layer_begin[layer + 1]) {
      ++layer;
    }
    const Recompute recompute = recompute_at(strategy, {static_cast<int>(layer), 0});
    times[layer] += unit_time(chain.plan_of(static_cast<int>(unit), recompute)).value;
  }
  return times;
}

std::vector<LayerMemory> layer_memory(const Chain& chain) {
  std::vector<LayerMemory> layers(chain.layer_begin.size());
  std::size_t layer = 0;
  for (int unit = 0; unit < static_cast<int>(chain.units.size()); ++unit) {
    while (layer + 1 < layers.size() && unit >= chain.layer_begin[layer + 1]) { ++layer; }
    const BlockPlan& plan = chain.plan_of(unit);
    LayerMemory& memory = layers[layer];
    memory.elements += plan.weights.own + plan.weights.embedding;
    memory.whole += plan.weights.small;
    add(memory.shapes, plan.shapes);
    add(memory.experts, plan.experts);
    add(memory.frozen, plan.frozen);
    add(memory.shapes, {.products = {}, .tables = plan.word_embedding});
    memory.activations += plan.activations + plan.logits;
    memory.workspace =
        std::max({memory.workspace, plan.forward_workspace, plan.backward_workspace});
  }
  return layers;
}

}  // namespace tsim::strategies
