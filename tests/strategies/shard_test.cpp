#include "strategies/shard.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::strategies;
using models::BlockKind;

namespace {

constexpr std::int64_t kHidden = 12288;
constexpr std::int64_t kSequence = 2048;

models::Block block_of(std::string_view name, BlockKind kind) {
  const auto config = models::model_named(name).value();
  const models::Model model = build_model(config, {.micro_batch = 1, .sequence = kSequence});
  const auto found = std::find_if(model.blocks.begin(), model.blocks.end(),
                                  [kind](const models::Block& b) { return b.kind == kind; });
  REQUIRE(found != model.blocks.end());
  return *found;
}

Sharding eight_way(bool sequence_parallel = false) {
  return {.tensor = 8, .sequence_parallel = sequence_parallel, .heads = 96, .kv_heads = 96};
}

bool all(const std::vector<OpComm>& comms, tsim::cost::CollectiveOp kind, std::int64_t bytes) {
  return std::all_of(comms.begin(), comms.end(), [&](const OpComm& c) {
    return c.comm.op == kind && c.comm.size.value == bytes;
  });
}

}  // namespace

TEST_CASE("a layer split over a tensor group needs four all-reduces of s b h elements") {
  // [arXiv:1909.08053, sec. 3]: two forward, two backward, 2048 x 12288 x 2 bytes each.
  const auto layer = block_of("gpt3-175b", BlockKind::layer);
  const TensorComms comms = tensor_comms(shard(layer.graph, eight_way()), eight_way());
  const std::int64_t bytes = kSequence * kHidden * 2;
  CHECK(comms.after_forward.size() == 2);
  CHECK(comms.after_backward_input.size() == 2);
  CHECK(comms.before_forward.empty());
  CHECK(comms.before_backward.empty());
  CHECK(all(comms.after_forward, tsim::cost::CollectiveOp::all_reduce, bytes));
  CHECK(all(comms.after_backward_input, tsim::cost::CollectiveOp::all_reduce, bytes));
}

TEST_CASE("sequence parallelism gathers and scatters in place of each all-reduce") {
  // [arXiv:2205.05198, sec. 4.2.2]: the same volume, as all-gather and reduce-scatter.
  const auto layer = block_of("gpt3-175b", BlockKind::layer);
  const TensorComms comms = tensor_comms(shard(layer.graph, eight_way(true)), eight_way(true));
  const std::int64_t bytes = kSequence * kHidden * 2;
  for (const auto* gathers : {&comms.before_forward, &comms.before_backward}) {
    CHECK(gathers->size() == 2);
    CHECK(all(*gathers, tsim::cost::CollectiveOp::all_gather, bytes));
  }
  for (const auto* scatters : {&comms.after_forward, &comms.after_backward_input}) {
    CHECK(scatters->size() == 2);
    CHECK(all(*scatters, tsim::cost::CollectiveOp::reduce_scatter, bytes));
  }
}

TEST_CASE("shards of a layer add up: matrices are cut, norms and row biases are copied") {
  // 12 h^2 + 13 h: of the 13 h, norms (4 h) and the two row-parallel biases (2 h) are on every
  // rank.
  const auto layer = block_of("gpt3-175b", BlockKind::layer);
  const std::int64_t whole = parameters(layer.graph);
  CHECK(whole == 12 * kHidden * kHidden + 13 * kHidden);
  const std::int64_t part = parameters(shard(layer.graph, eight_way()));
  CHECK(part == (whole - 6 * kHidden) / 8 + 6 * kHidden);
}

TEST_CASE("FLOPs of the contractions are divided exactly") {
  const auto flops = [](const models::OpGraph& graph) {
    double sum = 0;
    for (const models::Op& op : graph.ops) {
      if (op.cls == models::OpClass::contraction) { sum += model_flops(op).value; }
    }
    return sum;
  };
  for (const BlockKind kind : {BlockKind::layer, BlockKind::head}) {
    models::Block block = block_of("megatron-1t", kind);
    const Sharding s{.tensor = 8, .heads = 160, .kv_heads = 160};
    CHECK(flops(shard(block.graph, s)) == doctest::Approx(flops(block.graph) / 8).epsilon(1e-12));
  }
}

TEST_CASE("key/value heads are copied, not cut, when there are fewer than ranks") {
  // llama2-70b: 64 heads, 8 key/value heads. Over 16 ranks each has 4 heads and one key/value head.
  const auto layer = block_of("llama2-70b", BlockKind::layer);
  const models::OpGraph part = shard(layer.graph, {.tensor = 16, .heads = 64, .kv_heads = 8});
  std::int64_t qkv = 0;
  for (const models::Op& op : part.ops) {
    for (const models::Dim& dim : op.space) {
      if (dim.axis == models::Axis::qkv) { qkv = dim.size; }
    }
  }
  CHECK(qkv == 4 + 2);
}

TEST_CASE("a group of one needs no communication") {
  const auto layer = block_of("gpt3-175b", BlockKind::layer);
  const Sharding alone{.tensor = 1, .heads = 96, .kv_heads = 96};
  CHECK(shard(layer.graph, alone) == layer.graph);
  CHECK(tensor_comms(layer.graph, alone).after_forward.empty());
}
