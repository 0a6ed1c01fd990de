#include "strategies/tensor/grid_sharding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "models/model.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::strategies;
using cost::CollectiveOp;
using models::BlockKind;

namespace {

constexpr std::int64_t kHidden = 12288;
constexpr std::int64_t kSequence = 2048;
constexpr std::int64_t kBatch = 8;
constexpr Sharding kSharding{.tensor = 16, .heads = 96, .kv_heads = 96};

const models::Model& gpt() {
  static const models::Model model = build_model(models::model_named("gpt3-175b").value(),
                                                 {.micro_batch = kBatch, .sequence = kSequence});
  return model;
}

const models::OpGraph& graph_of(BlockKind kind) {
  return std::find_if(gpt().blocks.begin(), gpt().blocks.end(),
                      [kind](const models::Block& b) { return b.kind == kind; })
      ->graph;
}

ShardedBlock layer_on(const TensorGrid& grid) {
  return shard_on_grid(graph_of(BlockKind::layer), kSharding, grid);
}

/// Elements (of 2 bytes) that pass a rank in all panels' collectives.
std::int64_t elements_in(const std::vector<PanelledProduct>& products, CollectiveOp kind) {
  std::int64_t bytes = 0;
  for (const PanelledProduct& p : products) {
    for (const auto* comms : {&p.before, &p.after}) {
      for (const ShardComm& c : *comms) { bytes += c.kind == kind ? p.panels * c.size.value : 0; }
    }
  }
  return bytes / 2;
}

}  // namespace

TEST_CASE("a layer's forward broadcasts (7 b s h + 12 h^2) / q elements past every rank") {
  // [arXiv:2104.05343, table 1]: q panels of a q-th of a q-th; the collective's log q is apart.
  for (const int q : {2, 4}) {
    const ShardedBlock block = layer_on({.side = q});
    const std::int64_t bsh = kBatch * kSequence * kHidden;
    CHECK(elements_in(block.forward_panels, CollectiveOp::broadcast) ==
          (7 * bsh + 12 * kHidden * kHidden) / q);
    CHECK(elements_in(block.forward_panels, CollectiveOp::reduce) == 0);
  }
}

TEST_CASE("a layer's backward, its forward run again, moves (21 b s h + 36 h^2) / q elements") {
  // [arXiv:2104.05343, table 1], where the backward includes a recomputation.
  const int q = 4;
  const ShardedBlock block = layer_on({.side = q});
  std::int64_t moved = 0;
  for (const auto* panels : {&block.forward_panels, &block.input_panels, &block.weight_panels}) {
    for (const CollectiveOp kind : {CollectiveOp::broadcast, CollectiveOp::reduce}) {
      moved += elements_in(*panels, kind);
    }
  }
  const std::int64_t bsh = kBatch * kSequence * kHidden;
  CHECK(moved == (21 * bsh + 36 * kHidden * kHidden) / q);
}

TEST_CASE("two layers of grids halve what activations move and leave what weights move") {
  // [arXiv:2105.14500, sec. 3.1]: A is [a/(d q), b/q], B [b/q, c/q] in every layer.
  const std::int64_t bsh = kBatch * kSequence * kHidden;
  CHECK(elements_in(layer_on({.side = 2, .depth = 2}).forward_panels, CollectiveOp::broadcast) ==
        (7 * bsh / 2 + 12 * kHidden * kHidden) / 2);
}

TEST_CASE("every matrix is held once by a grid, and once by each of its layers") {
  const std::int64_t matrices = 12 * kHidden * kHidden;
  const std::int64_t vectors = 13 * kHidden;
  CHECK(parameters(layer_on({.side = 4}).graph) == matrices / 16 + vectors / 4);
  CHECK(parameters(layer_on({.side = 2, .depth = 2}).graph) == matrices / 4 + vectors / 2);
}

TEST_CASE("activations are divided by all ranks, as one dimension cannot") {
  // What flows between layers is 1/16 of [8, 2048, 12288] on 4 x 4.
  const models::OpGraph& part = layer_on({.side = 4}).graph;
  const auto& out = part.tensors[static_cast<std::size_t>(part.output)];
  CHECK(models::elements(out.shape) == kBatch * kSequence * kHidden / 16);
}

TEST_CASE("FLOPs of a grid's ranks add up to the whole") {
  // A vocabulary of 51,200 divides; that of GPT-3 is padded before.
  const models::Model padded = build_model(models::model_named("megatron-1t").value(),
                                           {.micro_batch = kBatch, .sequence = kSequence});
  const Sharding sharding{.tensor = 16, .heads = 160, .kv_heads = 160};
  const auto flops = [](const models::OpGraph& graph) {
    double sum = 0;
    for (const models::Op& op : graph.ops) {
      if (op.cls == models::OpClass::contraction) { sum += model_flops(op).value; }
    }
    return sum;
  };
  for (const models::Block& block : padded.blocks) {
    for (const TensorGrid grid : {TensorGrid{4, 1}, TensorGrid{2, 2}}) {
      const double ranks = grid.side * grid.side * grid.depth;
      CHECK(ranks * flops(shard_on_grid(block.graph, sharding, grid).graph) ==
            doctest::Approx(flops(block.graph)).epsilon(1e-12));
    }
  }
}

TEST_CASE("norms add up two numbers a row along the grid's rows, forward and backward") {
  // [arXiv:2104.05343, sec. 3.2.2]: 2 samples of 2048 tokens on each row of 4, fp32.
  const ShardedBlock block = layer_on({.side = 4});
  const ShardComm expected{0, CollectiveOp::all_reduce, {1, 4}, Bytes{2 * 2048 * 2 * 4}};
  for (const auto* comms : {&block.after_forward, &block.after_backward_input}) {
    CHECK(comms->size() == 2);
    for (const ShardComm& c : *comms) {
      CHECK(c.kind == expected.kind);
      CHECK(c.ranks == expected.ranks);
      CHECK(c.size == expected.size);
    }
  }
}

TEST_CASE("gradients of vectors are summands over rows and layers, those of blocks over layers") {
  const std::vector<SharedGradients> flat{{RankRun{4, 4}, 13 * kHidden / 4}};
  CHECK(layer_on({.side = 4}).shared == flat);
  const std::vector<SharedGradients> deep = layer_on({.side = 2, .depth = 2}).shared;
  REQUIRE(deep.size() == 2);
  CHECK(deep[0] == SharedGradients{RankRun{2, 4}, 13 * kHidden / 2});
  CHECK(deep[1] == SharedGradients{RankRun{4, 2}, 12 * kHidden * kHidden / 4});
}

TEST_CASE("the loss adds up three numbers a token along rows, the logits' product their sums") {
  const ShardedBlock head = shard_on_grid(graph_of(BlockKind::head), kSharding, {.side = 4});
  const auto losses =
      std::count_if(head.after_forward.begin(), head.after_forward.end(),
                    [](const ShardComm& c) { return c.size == Bytes{2 * 2048 * 4}; });
  CHECK(losses == 3);
  REQUIRE(head.forward_panels.size() == 1);
  CHECK(head.forward_panels.front().after.front().kind == CollectiveOp::reduce);
}
