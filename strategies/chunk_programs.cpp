#include "strategies/chunk_programs.hpp"

#include <algorithm>
#include <limits>

#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"
#include "strategies/weave.hpp"

namespace tsim::strategies {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

std::int64_t sharded_elements(const BlockPlan& plan) {
  return plan.weights.own + plan.weights.embedding - plan.weights.small;
}

/// One of a block's lists of pieces.
using Pieces = std::vector<Piece> BlockPlan::*;

class ProgramsOf {
 public:
  ProgramsOf(std::span<const ChunkBlock> blocks, const Strategy& strategy,
             const cost::Device& device)
      : blocks_(blocks), s_(strategy), device_(device) {}

  Program forward(bool first) const {
    GatherPlan plan = gathers(false);
    if (first) { plan = first_gathers(); }
    return make_program(weave(in_order(&BlockPlan::forward), Phase::forward, plan),
                        device_.host_launch);
  }

  /// Everything that goes from the last block to the first; `kept`: gradients of its weights are
  /// among what it makes.
  Program backward(Pieces pieces, Phase phase, const BucketLimits& buckets) const {
    GatherPlan plan = phase == Phase::weight_grad ? GatherPlan{} : gathers(true);
    plan.flushes = s_.zero.stage == 3 && !buckets.sends.empty();
    return make_program(weave(in_reverse(pieces), phase, plan), device_.host_launch, buckets);
  }

  /// What is done with gradients in a micro-batch's backward; `last`: it is the last one's.
  BucketLimits buckets(bool last) const {
    if (replicas(s_) == 1) { return {}; }
    if (!sends_in_programs(s_)) { return last ? limits() : BucketLimits{}; }
    if (!last && !syncs_every(s_)) { return {}; }
    BucketLimits result = limits();
    result.sends = gradient_sends(s_, last || s_.across_every);
    const bool transient = s_.zero.stage >= 2 && syncs_every(s_);
    if (transient) { result.gradient = Bytes{size_of(s_.precision.gradient)}; }
    return result;
  }

 private:
  BucketLimits limits() const {
    if (!s_.overlap_gradients || s_.zero.stage == 3) { return {kAll, kAll}; }
    const std::int64_t size = size_of(s_.precision.reduction);
    const auto limit = [size](Bytes bucket) {
      return std::max<std::int64_t>(1, bucket.value / size);
    };
    return {limit(s_.first_bucket), limit(s_.bucket)};
  }

  /// With one stage a backward follows its forward, and starts with the block that ran last.
  GatherPlan gathers(bool backward) const {
    GatherPlan plan;
    if (s_.zero.stage < 3 || shard_count(s_) == 1) { return plan; }
    const GradientSend gather = parameter_gather(s_, backward);
    plan.gathers = true;
    plan.comm = gather.comm;
    plan.wire_bytes = gather.bytes;
    plan.held = Bytes{size_of(kept_weights(s_.precision))};
    plan.ahead = s_.zero.prefetch;
    const bool next_is_backward = s_.pipeline == 1 && s_.chunks == 1;
    plan.keeps_last = !backward && next_is_backward;
    plan.first_is_here = backward && next_is_backward;
    plan.keeps_all = !backward && !s_.zero.reshard;
    plan.all_are_here = backward && !s_.zero.reshard;
    return plan;
  }

  /// Stages 1 and 2: the optimizer has stepped its shard, and all of the weights follow.
  GatherPlan first_gathers() const {
    GatherPlan plan = gathers(false);
    if (!s_.overlap_parameters || s_.zero.stage == 0 || shard_count(s_) == 1) { return plan; }
    const GradientSend gather = parameter_gather(s_, false);
    plan.gathers = true;
    plan.comm = gather.comm;
    plan.wire_bytes = gather.bytes;
    plan.ahead = static_cast<int>(blocks_.size());
    plan.keeps_all = true;
    return plan;
  }

  WovenBlock woven(const ChunkBlock& block, Pieces pieces) const {
    return {&(block.plan->*pieces), sharded_elements(*block.plan), !block.completes_embedding};
  }
  std::vector<WovenBlock> in_order(Pieces pieces) const {
    std::vector<WovenBlock> list(blocks_.size());
    std::transform(blocks_.begin(), blocks_.end(), list.begin(),
                   [&](const ChunkBlock& b) { return woven(b, pieces); });
    return list;
  }
  std::vector<WovenBlock> in_reverse(Pieces pieces) const {
    std::vector<WovenBlock> list = in_order(pieces);
    std::reverse(list.begin(), list.end());
    return list;
  }

  std::span<const ChunkBlock> blocks_;
  const Strategy& s_;
  const cost::Device& device_;
};

}  // namespace

void add_programs(std::span<const ChunkBlock> blocks, const Strategy& strategy,
                  const cost::Device& device, ChunkPlan& plan) {
  const ProgramsOf make(blocks, strategy, device);
  const BucketLimits each = make.buckets(false);
  const BucketLimits last = make.buckets(true);
  plan.forward = make.forward(false);
  if (strategy.overlap_parameters) { plan.first_forward = make.forward(true); }
  plan.backward = make.backward(&BlockPlan::backward, Phase::backward, each);
  plan.last_backward = make.backward(&BlockPlan::backward, Phase::backward, last);
  plan.input_grad = make.backward(&BlockPlan::input_grad, Phase::input_grad, {});
  plan.weight_grad = make.backward(&BlockPlan::weight_grad, Phase::weight_grad, each);
  plan.last_weight_grad = make.backward(&BlockPlan::weight_grad, Phase::weight_grad, last);
}

}  // namespace tsim::strategies
