#include "strategies/tensor/operator_sharding.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::strategies;
using cost::CollectiveOp;
using models::BlockKind;

namespace {

// gpt3-175b: hidden 12288, sequence 2048, ffn 49152, 2 bytes an element.
constexpr std::int64_t kStream = 2048LL * 12288 * 2;

models::Model gpt(std::int64_t micro_batch = 1) {
  return build_model(models::model_named("gpt3-175b").value(),
                     {.micro_batch = micro_batch, .sequence = 2048});
}

const models::Block& block_of(const models::Model& model, BlockKind kind) {
  return *std::find_if(model.blocks.begin(), model.blocks.end(),
                       [kind](const models::Block& b) { return b.kind == kind; });
}

Sharding over(int tensor, bool sequence_parallel = false) {
  return {.tensor = tensor, .sequence_parallel = sequence_parallel, .heads = 96, .kv_heads = 96};
}

OperatorCuts cuts(const std::vector<std::pair<std::string, std::string>>& written) {
  OperatorCuts result;
  for (const auto& [name, text] : written) { result[name] = parse_factors(text).value(); }
  return result;
}

// Megatron's split of a layer written out: columns, then rows [arXiv:1909.08053, sec. 3].
OperatorCuts megatron() {
  return cuts({{"attention.qkv", "((1,1),(1,8))"},
               {"attention.projection", "((1,8),(8,1))"},
               {"mlp.fc1", "((1,1),(1,8))"},
               {"mlp.fc2", "((1,8),(8,1))"}});
}

ShardedBlock sharded(const models::Model& model, BlockKind kind, const Sharding& s,
                     const OperatorCuts& c) {
  return shard_operators(block_of(model, kind).graph, s, c, stream_layout(model, s, c));
}

/// The same collectives in the same order as the rule for whole groups finds.
bool same(const std::vector<ShardComm>& derived, const std::vector<OpComm>& ruled, int tensor) {
  return std::equal(derived.begin(), derived.end(), ruled.begin(), ruled.end(),
                    [&](const ShardComm& a, const OpComm& b) {
                      return a.op == b.op && a.kind == b.comm.op && a.size == b.comm.size &&
                             a.ranks == RankRun{1, tensor};
                    });
}

/// Parts of the activations. Ids, labels and the loss, which the rule for whole groups divides and
/// operators read whole, are left out: they are not moved.
std::vector<models::Tensor> streams(const models::OpGraph& graph) {
  std::vector<models::Tensor> found;
  for (const models::Tensor& t : graph.tensors) {
    if (t.role != models::Role::index && t.name != "loss") { found.push_back(t); }
  }
  return found;
}

const ShardComm* comm_of(const std::vector<ShardComm>& comms, const models::OpGraph& graph,
                         const std::string& name) {
  for (const ShardComm& c : comms) {
    if (graph.ops[static_cast<std::size_t>(c.op)].name == name) { return &c; }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("Megatron's split in operator notation is Megatron's split") {
  const models::Model model = gpt();
  for (const bool sequence_parallel : {false, true}) {
    const Sharding s = over(8, sequence_parallel);
    for (const BlockKind kind : {BlockKind::embedding, BlockKind::layer, BlockKind::head}) {
      CAPTURE(name_of(kind));
      const models::OpGraph part = shard(block_of(model, kind).graph, s);
      const TensorComms ruled = tensor_comms(part, s);
      for (const OperatorCuts& c : {OperatorCuts{}, megatron()}) {
        const ShardedBlock derived = sharded(model, kind, s, c);
        CHECK(derived.graph.ops == part.ops);
        CHECK(streams(derived.graph) == streams(part));
        CHECK(same(derived.before_forward, ruled.before_forward, 8));
        CHECK(same(derived.after_forward, ruled.after_forward, 8));
        CHECK(same(derived.before_backward, ruled.before_backward, 8));
        CHECK(same(derived.after_backward_input, ruled.after_backward_input, 8));
      }
    }
  }
}

TEST_CASE("fewer key/value heads than ranks are shared as Megatron shares them") {
  const models::Model model =
      build_model(models::model_named("llama2-70b").value(), {.micro_batch = 1, .sequence = 4096});
  const Sharding s{.tensor = 16, .heads = 64, .kv_heads = 8};
  const ShardedBlock derived = sharded(model, BlockKind::layer, s, {});
  const models::OpGraph part = shard(block_of(model, BlockKind::layer).graph, s);
  CHECK(derived.graph == part);
  CHECK(same(derived.after_forward, tensor_comms(part, s).after_forward, 16));
}

TEST_CASE("gradients of norms and row biases are summands under sequence parallelism only") {
  // 6 h of a layer's 12 h^2 + 13 h: two norms (4 h), two row biases (2 h).
  const models::Model model = gpt();
  CHECK(sharded(model, BlockKind::layer, over(8), {}).shared.empty());
  const std::vector<SharedGradients> expected{{RankRun{1, 8}, 6 * 12288}};
  CHECK(sharded(model, BlockKind::layer, over(8, true), {}).shared == expected);
}

TEST_CASE("a layer cut by samples needs no communication but its gradients") {
  // Eight samples over eight ranks, every operator: plain data parallelism.
  const models::Model model = gpt(8);
  const models::OpGraph& graph = block_of(model, BlockKind::layer).graph;
  OperatorCuts all;
  for (const models::Op& op : graph.ops) {
    OperandFactors factors;
    for (const models::Operand& in : op.inputs) {
      const auto& tensor = graph.tensors[static_cast<std::size_t>(in.tensor)];
      if (tensor.role == models::Role::index) { continue; }
      factors.emplace_back(in.shape.size(), 1);
      if (in.shape.front().axis == models::Axis::batch) { factors.back().front() = 8; }
    }
    for (const models::Operand& w : op.weights) { factors.emplace_back(w.shape.size(), 1); }
    all[op.name] = factors;
  }
  const ShardedBlock derived = sharded(model, BlockKind::layer, over(8), all);
  CHECK(derived.before_forward.empty());
  CHECK(derived.after_forward.empty());
  CHECK(derived.before_backward.empty());
  CHECK(derived.after_backward_input.empty());
  const std::int64_t parameters = 12LL * 12288 * 12288 + 13 * 12288;
  const std::vector<SharedGradients> expected{{RankRun{1, 8}, parameters}};
  CHECK(derived.shared == expected);
  CHECK(models::parameters(derived.graph) == parameters);
}

TEST_CASE("a projection cut by rows hands heads to the attention by an all-to-all") {
  // ((8,1),(1,1)): rank r makes all heads of an eighth of the tokens, the attention wants an eighth
  // of the heads of all tokens: each rank holds 2048 x 3 x 12288 / 8 elements of 2 bytes.
  const models::Model model = gpt();
  const ShardedBlock derived =
      sharded(model, BlockKind::layer, over(8), cuts({{"attention.qkv", "((8,1),(1,1))"}}));
  const models::OpGraph& graph = derived.graph;
  const auto exchanged =
      std::count_if(derived.before_forward.begin(), derived.before_forward.end(),
                    [](const ShardComm& c) { return c.kind == CollectiveOp::all_to_all; });
  // Queries and keys to the scores, values to the context.
  CHECK(exchanged == 3);
  const ShardComm* values = comm_of(derived.before_forward, graph, "attention.context");
  REQUIRE(values != nullptr);
  CHECK(values->size == Bytes{kStream / 8});
  // The projection reads a slice of its input; its input's gradient is gathered.
  CHECK(comm_of(derived.before_forward, graph, "attention.qkv") == nullptr);
  const ShardComm* back = comm_of(derived.after_backward_input, graph, "attention.qkv");
  REQUIRE(back != nullptr);
  CHECK(back->kind == CollectiveOp::all_gather);
  CHECK(back->size == Bytes{kStream});
}

TEST_CASE("a product on a grid adds up along one side of it") {
  // ((1,4),(4,2)) on 8 ranks: 4 summands of half the columns; the device matrix is [4, 2], so
  // summands are 2 ranks apart. Then both halves are wanted everywhere.
  const models::Model model = gpt();
  const ShardedBlock derived =
      sharded(model, BlockKind::layer, over(8), cuts({{"mlp.fc2", "((1,4),(4,2))"}}));
  const ShardComm* sum = comm_of(derived.after_forward, derived.graph, "mlp.fc2");
  REQUIRE(sum != nullptr);
  CHECK(sum->ranks.size == 4);
  CHECK(sum->ranks.stride == 2);
  CHECK(sum->size == Bytes{kStream / 2});
}

TEST_CASE("a product that all ranks repeat needs nothing and is counted as repeated") {
  const models::Model model = gpt();
  const ShardedBlock derived =
      sharded(model, BlockKind::layer, over(8), cuts({{"mlp.fc1", "((1,1),(1,1))"}}));
  for (std::size_t i = 0; i < derived.graph.ops.size(); ++i) {
    if (derived.graph.ops[i].name == "mlp.fc1") { CHECK(derived.repeats[i] == 8); }
  }
  CHECK(comm_of(derived.before_forward, derived.graph, "mlp.fc1") == nullptr);
}

TEST_CASE("a norm over a divided axis adds up two numbers a row") {
  // 2048 rows of sum and sum of squares, fp32.
  const models::Model model = gpt();
  const ShardedBlock derived =
      sharded(model, BlockKind::layer, over(8), cuts({{"mlp.norm", "((1,1,8),(8),(8))"}}));
  const ShardComm* sum = comm_of(derived.after_forward, derived.graph, "mlp.norm");
  REQUIRE(sum != nullptr);
  CHECK(sum->kind == CollectiveOp::all_reduce);
  CHECK(sum->size == Bytes{2048 * 2 * 4});
}
