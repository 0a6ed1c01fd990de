#include "strategies/chunk_programs.hpp"

#include <algorithm>
#include <limits>

#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"
#include "strategies/weave.hpp"

namespace tsim::strategies {
namespace {

// FSDP2 narrows each tensor, copies it in and out of what is gathered, and each gradient into what
// is reduced, with views and hooks around it (torch/distributed/fsdp/_fully_shard/
// _fsdp_collectives.py). Of the host's time: BERT-base, BERT-large and a 350M GPT sharded over one
// H200 (PyTorch 2.11, so that nothing is really exchanged) took 65.9, 127.5 and 128.8 ms a step,
// and 16.2 and 33 ms without FSDP: 3.8 ms a block of 12 tensors that is gathered twice and reduced
// once, eight of the 40 us that this host takes for a kernel, for each tensor.
constexpr int kGatherLaunches = 3;
constexpr int kSendLaunches = 2;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

/// Of the trained weights, and at ZeRO stage 3 of the others.
std::int64_t sharded_elements(const BlockPlan& plan, const Strategy& s) {
  const BlockWeights& w = plan.weights;
  const FrozenWeights& f = plan.frozen;
  const std::int64_t trained = w.own + w.embedding - w.small - w.experts;
  const std::int64_t frozen = f.elements + f.embedding - f.whole - f.experts.elements;
  return trained + (s.zero.stage == 3 ? frozen : 0);
}

/// Whether nothing of the block is trained or hands a gradient on.
bool has_no_backward(const BlockPlan& plan) {
  return plan.backward.empty() && plan.weights.own + plan.weights.embedding == 0;
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
    add_swap(Swap::out, plan);
    return make_program(weave(in_order(&BlockPlan::forward), Phase::forward, plan), host());
  }

  /// Everything that goes from the last block to the first; `kept`: gradients of its weights are
  /// among what it makes.
  Program backward(Pieces pieces, Phase phase, const BucketLimits& buckets) const {
    GatherPlan plan = phase == Phase::weight_grad ? GatherPlan{} : gathers(true);
    plan.flushes = s_.zero.stage == 3 && !buckets.sends.empty();
    if (phase == Phase::backward) { add_swap(Swap::in, plan); }
    return make_program(weave(in_reverse(pieces), phase, plan), host(), buckets);
  }

  /// What is done with gradients in a micro-batch's backward; `last`: it is the last one's.
  BucketLimits buckets(bool last) const {
    const bool dense = replicas(s_) > 1 || steps_on_host(s_);
    const bool experts = spreads_experts(s_) && (expert_holders(s_) > 1 || steps_on_host(s_));
    if (!dense && !experts) { return {}; }
    if (!last && !(sends_in_programs(s_) && syncs_every(s_))) { return {}; }
    BucketLimits result = limits();
    result.dense = dense;
    result.experts = experts;
    if (!sends_in_programs(s_)) { return result; }
    result.sends = gradient_sends(s_, last || s_.across_every);
    result.expert_sends = expert_gradient_sends(s_);
    result.completes = last;
    const bool transient = (s_.zero.stage >= 2 || steps_on_host(s_)) && syncs_every(s_);
    if (transient) { result.gradient = Bytes{size_of(s_.precision.gradient)}; }
    return result;
  }

 private:
  HostTimes host() const {
    return {cost::host_time(device_, false), cost::host_time(device_, true),
            device_.host_collective, s_.host_blocks};
  }

  BucketLimits limits() const {
    if (!s_.overlap_gradients || s_.zero.stage == 3) { return {kAll, kAll}; }
    const std::int64_t size = size_of(s_.precision.reduction);
    const auto limit = [size](Bytes bucket) {
      return std::max<std::int64_t>(1, bucket.value / size);
    };
    return {limit(s_.first_bucket), limit(s_.bucket)};
  }

  void add_swap(Swap swap, GatherPlan& plan) const {
    const bool any = std::any_of(blocks_.begin(), blocks_.end(),
                                 [](const ChunkBlock& b) { return b.elsewhere.value > 0; });
    if (!any) { return; }
    plan.swap = swap;
    const bool host = s_.offload.activations == ActivationsAt::cpu;
    plan.swap_copy = host_copy(host ? GroupAxis::host_memory : GroupAxis::peer,
                               swap == Swap::out ? Stream::copy_out : Stream::copy_in);
  }

  /// With one stage a backward follows its forward, and starts with the block that ran last.
  GatherPlan gathers(bool backward) const {
    GatherPlan plan;
    const bool at_host = s_.offload.parameters != StatesAt::device;
    const int shards = shard_count(s_);
    if (s_.zero.stage < 3 || (shards == 1 && !at_host)) { return plan; }
    const GradientSend gather = parameter_gather(s_, backward);
    plan.gathers = true;
    plan.gather_launches = s_.zero.flat ? 0 : kGatherLaunches;
    plan.send_launches = s_.zero.flat ? 0 : kSendLaunches;
    plan.comm = gather.comm;
    plan.wire_bytes = gather.bytes;
    plan.held = Bytes{size_of(kept_weights(s_.precision))};
    if (at_host && shards == 1) {  // what the copy brings is whole
      plan.comm = parameter_copy(s_);
      plan.wire_bytes = to_double(plan.held);
    } else if (at_host) {
      plan.fetches = true;
      plan.fetch = parameter_copy(s_);
      plan.fetch_bytes = to_double(plan.held) / shards;
    }
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

  /// Block `i` in as many parts as its weights are gathered in.
  void add_woven(std::size_t i, Pieces pieces, std::vector<WovenBlock>& list) const {
    const ChunkBlock& block = blocks_[i];
    const std::span<const Piece> all = block.plan->*pieces;
    const auto parts = static_cast<std::size_t>(s_.tiling);
    const bool idle = pieces != &BlockPlan::forward && has_no_backward(*block.plan);
    const auto elements = idle ? 0 : sharded_elements(*block.plan, s_);
    const int frozen = block.plan->frozen.tensors;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t from = all.size() * part / parts;
      const std::size_t to = all.size() * (part + 1) / parts;
      const auto cut = [&](std::size_t p) {
        return elements * static_cast<std::int64_t>(p) / static_cast<std::int64_t>(parts);
      };
      list.push_back({all.subspan(from, to - from), cut(part + 1) - cut(part),
                      !block.completes_embedding, part == 0 ? block.elsewhere : Bytes{},
                      static_cast<int>(i) + 1, part == 0 ? block.plan->weights.tensors + frozen : 0,
                      part == 0 ? frozen : 0});
    }
  }
  std::vector<WovenBlock> in_order(Pieces pieces) const {
    std::vector<WovenBlock> list;
    list.reserve(blocks_.size() * static_cast<std::size_t>(s_.tiling));
    for (std::size_t i = 0; i < blocks_.size(); ++i) { add_woven(i, pieces, list); }
    return list;
  }
  std::vector<WovenBlock> in_reverse(Pieces pieces) const {
    std::vector<WovenBlock> list;
    list.reserve(blocks_.size() * static_cast<std::size_t>(s_.tiling));
    for (std::size_t i = blocks_.size(); i-- > 0;) { add_woven(i, pieces, list); }
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
  const bool adds = strategy.eager_accumulation;
  const Pieces backward = adds ? &BlockPlan::backward_added : &BlockPlan::backward;
  const Pieces weights = adds ? &BlockPlan::weight_grad_added : &BlockPlan::weight_grad;
  plan.backward = make.backward(backward, Phase::backward, each);
  plan.last_backward = make.backward(backward, Phase::backward, last);
  plan.input_grad = make.backward(&BlockPlan::input_grad, Phase::input_grad, {});
  plan.weight_grad = make.backward(weights, Phase::weight_grad, each);
  plan.last_weight_grad = make.backward(weights, Phase::weight_grad, last);
  if (!adds || !strategy.gradients_when_made) { return; }
  plan.first_backward = make.backward(&BlockPlan::backward, Phase::backward, each);
  plan.only_backward = make.backward(&BlockPlan::backward, Phase::backward, last);
  plan.first_weight_grad = make.backward(&BlockPlan::weight_grad, Phase::weight_grad, each);
  plan.only_weight_grad = make.backward(&BlockPlan::weight_grad, Phase::weight_grad, last);
}

}  // namespace tsim::strategies
