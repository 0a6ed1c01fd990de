#include "strategies/tensor/shard_block.hpp"

#include <algorithm>

#include "strategies/tensor/grid_sharding.hpp"
#include "strategies/tensor/operator_sharding.hpp"
#include "strategies/tensor/statistics.hpp"

namespace tsim::strategies {
namespace {

using models::Axis;
using models::Dim;
using models::Op;
using models::Operand;
using models::OpGraph;

std::vector<ShardComm> over_runs(const std::vector<OpComm>& comms) {
  std::vector<ShardComm> result;
  result.reserve(comms.size());
  for (const OpComm& c : comms) {
    const RankGroup& group = c.comm.group;
    result.push_back({c.op,
                      c.comm.op,
                      {group.stride, group.size},
                      c.comm.size,
                      group.axis,
                      c.comm.layer,
                      c.comm.root});
  }
  return result;
}

/// Elements of a rank's weight that belong to key/value heads: a part of a fused projection.
std::int64_t kv_elements(const models::Shape& part, const Sharding& s) {
  std::int64_t elements = models::elements(part);
  const std::int64_t kv = std::max<std::int64_t>(1, s.kv_heads / s.tensor);
  for (const Dim& dim : part) {
    if (dim.axis == Axis::qkv) { return elements / dim.size * 2 * kv; }
    if (dim.axis == Axis::kv_heads) { return elements; }
  }
  return 0;
}

/// Of fewer key/value heads than ranks, neighbours hold the same one and each finds a part of its
/// gradient; under sequence parallelism each finds what its tokens add to vectors that all hold.
void add_shared(const OpGraph& part, const Sharding& s, ShardedBlock& block) {
  for (const Op& op : part.ops) {
    for (const Operand& w : op.weights) {
      if (part.tensors[static_cast<std::size_t>(w.tensor)].frozen) { continue; }
      const auto& shape = part.tensors[static_cast<std::size_t>(w.tensor)].shape;
      if (s.kv_heads < s.tensor) {
        const auto sharers = static_cast<int>(s.tensor / s.kv_heads);
        add_shared(block.shared, {.stride = 1, .size = sharers}, kv_elements(shape, s));
      }
      if (s.sequence_parallel && !is_split(op.space) && has_axis(op.space, Axis::sequence)) {
        add_shared(block.shared, {.stride = 1, .size = s.tensor}, models::elements(shape));
      }
    }
  }
}

/// Products outside the split are the same on all tensor ranks, unless the sequence is cut there.
std::vector<int> repeats_of(const OpGraph& part, const Sharding& s) {
  std::vector<int> repeats;
  repeats.reserve(part.ops.size());
  for (const Op& op : part.ops) {
    const bool divided = is_split(op.space) || has_axis(op.space, Axis::expert) ||
                         (s.sequence_parallel && has_axis(op.space, Axis::sequence));
    const bool same = !divided && op.cls == models::OpClass::contraction;
    repeats.push_back(same ? s.tensor : 1);
  }
  return repeats;
}

ShardedBlock by_megatrons_rule(const OpGraph& graph, const Sharding& s) {
  ShardedBlock block;
  block.graph = shard(graph, s);
  const TensorComms comms = tensor_comms(block.graph, s);
  block.before_forward = over_runs(comms.before_forward);
  block.after_forward = over_runs(comms.after_forward);
  block.before_backward = over_runs(comms.before_backward);
  block.after_backward_input = over_runs(comms.after_backward_input);
  block.repeats = repeats_of(block.graph, s);
  if (s.tensor > 1) { add_shared(block.graph, s, block); }
  return block;
}

}  // namespace

ExpertSharding expert_sharding(const Strategy& s) {
  return {.ranks = s.experts.ranks,
          .tensor = expert_tensor(s),
          .cuts_tokens = cuts_tokens(s),
          .gathers = s.experts.dispatch == Dispatch::all_gather,
          .dispatch_format = s.experts.dispatch_format,
          .combine_format = s.experts.combine_format};
}

TensorSplit tensor_split(const models::Model& model, const Strategy& strategy, int context_rank) {
  TensorSplit split{.sharding = {.tensor = strategy.tensor,
                                 .sequence_parallel = strategy.sequence_parallel,
                                 .heads = model.config.heads,
                                 .kv_heads = model.config.kv_heads,
                                 .context = strategy.context,
                                 .attention = strategy.context_attention,
                                 .context_rank = context_rank,
                                 .experts = expert_sharding(strategy)},
                    .cuts = strategy.operators,
                    .stream = {},
                    .grid = strategy.grid};
  if (!split.cuts.empty()) { split.stream = stream_layout(model, split.sharding, split.cuts); }
  return split;
}

ShardedBlock shard_block(const OpGraph& graph, const TensorSplit& split) {
  if (is_grid(split.grid)) { return shard_on_grid(graph, split.sharding, split.grid); }
  if (!split.cuts.empty()) {
    return shard_operators(graph, split.sharding, split.cuts, split.stream);
  }
  return by_megatrons_rule(graph, split.sharding);
}

}  // namespace tsim::strategies
