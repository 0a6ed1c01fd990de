// Low-rank adapters over ranks: what is split, sent, added up and kept, by hand.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/registry.hpp"
#include "strategies/memory.hpp"
#include "strategies/shard.hpp"
#include "strategies/tensor/shard_block.hpp"
#include "strategies/zero.hpp"

using namespace tsim;
using namespace tsim::strategies;
using models::BlockKind;
using models::OpGraph;

namespace {

constexpr std::int64_t kHidden = 8192;
constexpr std::int64_t kFfn = 28'672;
constexpr std::int64_t kQkv = 10'240;  // (64 + 2 x 8) heads of 128
constexpr std::int64_t kSequence = 4096;
constexpr std::int64_t kRank = 16;

/// A layer of Llama 3 70B with adapters of rank 16 on its four products.
OpGraph layer() {
  models::ModelConfig config = models::model_named("llama3-70b").value();
  config.lora = {.rank = kRank};
  const models::Model model = build_model(config, {.micro_batch = 1, .sequence = kSequence});
  return std::ranges::find(model.blocks, BlockKind::layer, &models::Block::kind)->graph;
}

Sharding eight_way(bool sequence_parallel) {
  return {.tensor = 8, .sequence_parallel = sequence_parallel, .heads = 64, .kv_heads = 8};
}

std::int64_t elements_of(const OpGraph& graph, const std::string& tensor) {
  const auto it = std::ranges::find(graph.tensors, tensor, &models::Tensor::name);
  REQUIRE(it != graph.tensors.end());
  return elements(it->shape);
}

/// Bytes that `kind` moves for the operators with this end of their name, and how often.
struct Sum {
  std::int64_t bytes = 0;
  int count = 0;
  bool operator==(const Sum&) const = default;
};
Sum sum_of(const OpGraph& graph, const std::vector<OpComm>& comms, cost::CollectiveOp kind,
           std::string_view ending) {
  Sum sum;
  for (const OpComm& c : comms) {
    const std::string& name = graph.ops[static_cast<std::size_t>(c.op)].name;
    if (c.comm.op != kind || !name.ends_with(ending)) { continue; }
    sum.bytes += c.comm.size.value;
    ++sum.count;
  }
  return sum;
}

}  // namespace

TEST_CASE("the rank is never split: A follows its product's rows, B its columns") {
  const OpGraph part = shard(layer(), eight_way(true));
  CHECK(elements_of(part, "attention.qkv.lora_a.weight") == kHidden * kRank);
  CHECK(elements_of(part, "attention.qkv.lora_b.weight") == kRank * kQkv / 8);
  CHECK(elements_of(part, "mlp.fc1.lora_a.weight") == kHidden * kRank);
  CHECK(elements_of(part, "mlp.fc1.lora_b.weight") == kRank * 2 * kFfn / 8);
  CHECK(elements_of(part, "mlp.fc2.lora_a.weight") == kFfn * kRank / 8);
  CHECK(elements_of(part, "mlp.fc2.lora_b.weight") == kRank * kHidden);
  CHECK(elements_of(part, "attention.projection.lora_a.weight") == kHidden * kRank / 8);
  CHECK(elements_of(part, "attention.projection.lora_b.weight") == kRank * kHidden);
}

TEST_CASE("adapters send rank-sized activations beside those of their products") {
  using enum cost::CollectiveOp;
  const std::int64_t rows = kSequence * kRank * 2;  // bytes of A's result
  // B of a split product reads A's result whole, A of one that sums over the split makes parts.
  const OpGraph gathered = shard(layer(), eight_way(true));
  const TensorComms parts = tensor_comms(gathered, eight_way(true));
  CHECK(sum_of(gathered, parts.before_forward, all_gather, ".lora_b") == Sum{2 * rows, 2});
  CHECK(sum_of(gathered, parts.after_backward_input, reduce_scatter, ".lora_b") ==
        Sum{2 * rows, 2});
  CHECK(sum_of(gathered, parts.after_forward, reduce_scatter, ".lora_a") == Sum{2 * rows, 2});
  CHECK(sum_of(gathered, parts.before_backward, all_gather, ".lora_a") == Sum{2 * rows, 2});
  const Sum of_layer{2 * kSequence * kHidden * 2 + 2 * rows, 4};  // [arXiv:2205.05198, sec. 4.2.2]
  CHECK(sum_of(gathered, parts.before_forward, all_gather, "") == of_layer);
  CHECK(sum_of(gathered, parts.after_forward, reduce_scatter, "") == of_layer);
  const OpGraph whole = shard(layer(), eight_way(false));
  const TensorComms sums = tensor_comms(whole, eight_way(false));
  CHECK(sum_of(whole, sums.after_forward, all_reduce, ".lora_a") == Sum{2 * rows, 2});
  CHECK(sum_of(whole, sums.after_backward_input, all_reduce, ".lora_b") == Sum{2 * rows, 2});
  CHECK(sums.before_forward.empty());
}

TEST_CASE("tensor ranks add up the gradients of what they hold alike, and train") {
  // Under sequence parallelism each rank has its own tokens at A of qkv and fc1 and at B of the
  // projection and fc2, 4 x 8192 x 16 elements; the norms are frozen. Without it all ranks make
  // the same.
  const TensorSplit split{.sharding = eight_way(true)};
  const ShardedBlock block = shard_block(layer(), split);
  REQUIRE(block.shared.size() == 1);
  CHECK(block.shared.front().ranks.size == 8);
  CHECK(block.shared.front().elements == 4 * kHidden * kRank);
  const TensorSplit without{.sharding = eight_way(false)};
  CHECK(shard_block(layer(), without).shared.empty());
}

TEST_CASE("the FLOPs of adapters are divided where tokens are") {
  const auto flops = [](const OpGraph& graph) {
    double sum = 0;
    for (const models::Op& op : graph.ops) {
      if (op.cls == models::OpClass::contraction) { sum += model_flops(op).value; }
    }
    return sum;
  };
  CHECK(flops(shard(layer(), eight_way(true))) ==
        doctest::Approx(flops(layer()) / 8).epsilon(1e-12));
}

TEST_CASE("weights of GPT-3 take 350 GB when adapters are trained, and 2.8 TB when all are") {
  // [arXiv:2106.09685, sec. 4.2]: from 1.2 TB down to 350 GB "during training on GPT-3 175B",
  // which is 2 bytes of every frozen weight. All trained take 16 [arXiv:1910.02054, sec. 3.1].
  constexpr std::int64_t kWeights = 175'000'000'000;
  constexpr std::int64_t kAdapters = 18'874'368;
  const auto sum = [](const StateBytes& b) {
    return to_double(b.parameters + b.gradients + b.optimizer);
  };
  const StateBytes b = with_frozen(state_bytes(kAdapters, {}), {.elements = kWeights}, {});
  CHECK(to_double(b.frozen) == 350e9);
  CHECK(sum(b) == 350e9 + 16.0 * kAdapters);
  CHECK(b.gradients == Bytes{2 * kAdapters});
  CHECK(b.optimizer == Bytes{12 * kAdapters});
  CHECK(sum(state_bytes(kWeights, {})) == 16.0 * kWeights);
}

TEST_CASE("only stage 3 shards frozen weights") {
  const auto frozen = [](int stage) {
    Strategy s;
    s.data = 8;
    s.zero.stage = stage;
    return with_frozen(state_bytes(800, s), {.elements = 8000, .whole = 80, .embedding = 720}, s)
        .frozen;
  };
  CHECK(frozen(0) == Bytes{2 * 8720});
  CHECK(frozen(2) == Bytes{2 * 8720});
  CHECK(frozen(3) == Bytes{2 * (80 + 8640 / 8)});
}

TEST_CASE("versions of weights are kept of those that change") {
  const StateBytes b = with_frozen(state_bytes(100, {}), {.elements = 1000}, {});
  CHECK(parameters_in(b, 1) == Bytes{2 * 1100});
  CHECK(parameters_in(b, 3) == Bytes{2 * (3 * 100 + 1000)});
}

TEST_CASE("frozen weights have fp8 copies, adapters none") {
  Strategy s;
  s.precision.compute = models::DType::fp8;
  s.precision.fp8_copies = 1;
  s.precision.scale_block = 128;
  const WeightShapes adapters{.products = {{.rows = 1024, .columns = 16, .count = 1, .wide = true}},
                              .tables = {}};
  CHECK(state_bytes(1024 * 16, s, 0, adapters).parameters == Bytes{2 * 1024 * 16});
  const FrozenWeights base{.elements = 1024 * 1024,
                           .shapes = {.products = {{.rows = 1024, .columns = 1024}}, .tables = {}}};
  CHECK(with_frozen(state_bytes(0, s), base, s).parameters ==
        Bytes{3 * 1024 * 1024 + 8 * 8 * 4});  // a scale of 4 bytes for each block of 128 x 128
}
