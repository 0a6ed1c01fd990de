#include "strategies/part_plan.hpp"

#include <algorithm>

#include "strategies/block_chain.hpp"
#include "strategies/chunk_programs.hpp"
#include "strategies/memory.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/recompute.hpp"
#include "strategies/tensor/shard_block.hpp"
#include "strategies/tensor/statistics.hpp"

namespace tsim::strategies {
namespace {

using models::BlockKind;

/// Which blocks come before the layers, are them, and come after: whether there is one kind.
bool one_kind(const models::Model& model) {
  const auto layers = std::ranges::count(model.blocks, BlockKind::layer, &models::Block::kind);
  const auto others = std::ranges::count_if(model.blocks, [](const models::Block& b) {
    return b.kind == BlockKind::decoder_layer || b.kind == BlockKind::decoder_embedding;
  });
  return layers == 1 && others == 0;
}

std::vector<const BlockPlan*> blocks_of(const PartBlocks& blocks, const PartForm& form) {
  std::vector<const BlockPlan*> list;
  list.reserve(static_cast<std::size_t>(form.layers) + blocks.before.size() + blocks.after.size());
  if (form.first) {
    for (const BlockPlan& b : blocks.before) { list.push_back(&b); }
  }
  list.insert(list.end(), static_cast<std::size_t>(form.layers), &blocks.layer);
  if (form.last) {
    for (const BlockPlan& b : blocks.after) { list.push_back(&b); }
  }
  return list;
}

/// The ends of a part whose messages are cut over the tensor group.
struct Ends {
  BlockPlan first, last;
};

/// Copies of the end blocks with their gathers, set in `list`.
void gather_messages(const PartForm& form, const Strategy& s, const BlockPlan& before, Ends& ends,
                     std::vector<const BlockPlan*>& list) {
  if (!cuts_messages(s) || s.tensor == 1 || (form.first && form.last)) { return; }
  if (!form.first) {
    ends.first = *list.front();
    gather_first(Phase::forward, before.output + before.memory, s.tensor, ends.first.forward);
    list.front() = &ends.first;
  }
  if (!form.last) {
    ends.last = *list.back();
    const Bytes size = ends.last.output + ends.last.memory;
    gather_first(Phase::backward, size, s.tensor, ends.last.backward);
    gather_first(Phase::input_grad, size, s.tensor, ends.last.input_grad);
    list.back() = &ends.last;
  }
}

}  // namespace

std::optional<PartBlocks> plan_blocks(const models::Model& model, const Strategy& strategy,
                                      const cost::Device& device) {
  if (recompute_differs(strategy) || strategy.recompute_method != RecomputeMethod::every ||
      !one_kind(model)) {
    return std::nullopt;
  }
  const TensorSplit split = tensor_split(model, strategy);
  PartBlocks blocks;
  for (const models::Block& block : model.blocks) {
    BlockPlan plan = plan_block(block, split, strategy, device);
    if (block.kind == BlockKind::layer) {
      blocks.layers = block.count;
      blocks.layer = std::move(plan);
    } else {
      auto& others = blocks.layers == 0 ? blocks.before : blocks.after;
      others.insert(others.end(), static_cast<std::size_t>(block.count), plan);
    }
  }
  return blocks;
}

std::vector<SharedGradients> shared_of(const PartBlocks& blocks, const PartForm& form) {
  std::vector<SharedGradients> shared;
  for (const BlockPlan* block : blocks_of(blocks, form)) {
    for (const SharedGradients& s : block->shared) { add_shared(shared, s.ranks, s.elements); }
  }
  return shared;
}

std::vector<double> layer_times(const PartBlocks& blocks) {
  std::vector<double> times(static_cast<std::size_t>(blocks.layers), 0.0);
  for (const BlockPlan& b : blocks.before) { times.front() += unit_time(b).value; }
  for (double& time : times) { time += unit_time(blocks.layer).value; }
  for (const BlockPlan& b : blocks.after) { times.back() += unit_time(b).value; }
  return times;
}

StagePlan plan_part(const PartBlocks& blocks, const PartForm& form, const Strategy& strategy,
                    const cost::Device& device) {
  std::vector<const BlockPlan*> list = blocks_of(blocks, form);
  StagePlan stage;
  stage.chunks.resize(1);
  stage.shared = shared_of(blocks, form);
  ChunkPlan& chunk = stage.chunks.front();
  chunk.layers = form.layers;
  chunk.embedding = form.first;
  chunk.head = form.last;
  std::size_t embedding_user = list.size();  // the first one, whose backward is the last
  for (std::size_t i = 0; i < list.size(); ++i) {
    const BlockPlan& b = *list[i];
    add_block_memory(b, false, chunk);
    stage.elements += b.weights.own;
    stage.whole += b.weights.small;
    add(stage.shapes, b.shapes);
    add(stage.frozen, b.frozen);
    if (b.weights.embedding > 0) { embedding_user = std::min(embedding_user, i); }
  }
  if (embedding_user < list.size()) {
    stage.embedding_elements = list[embedding_user]->weights.embedding;
    stage.elements += stage.embedding_elements;
    add(stage.shapes, {.products = {}, .tables = list[embedding_user]->word_embedding});
  }
  Ends ends;
  gather_messages(form, strategy, blocks.layer, ends, list);  // a layer is before every other part
  std::vector<ChunkBlock> chunk_blocks;
  chunk_blocks.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    chunk_blocks.push_back({list[i], i == embedding_user, {}});
  }
  add_programs(chunk_blocks, strategy, device, chunk);
  stage.optimizer = optimizer_time(share_of({stage.elements, stage.shapes}, state_shards(strategy)),
                                   strategy, device);
  return stage;
}

}  // namespace tsim::strategies
