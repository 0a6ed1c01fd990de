#include "strategies/shadows.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "models/registry.hpp"
#include "strategies/block_plan.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

using Experts = std::vector<std::int64_t>;

/// Four ranks with an expert each; of ten rows of every rank seven go to the first expert.
models::RoutedLayer popular_first() {
  models::RoutedLayer layer;
  layer.experts = 4;
  for (int source = 0; source < 4; ++source) { layer.rows.insert(layer.rows.end(), {7, 1, 1, 1}); }
  layer.routed = 40;
  return layer;
}

ShadowCosts costs(double send_expert) {
  return {.ranks = 4, .compute = {1}, .send_row = {1}, .send_expert = {send_expert}};
}

BlockPlan moe_layer(const std::vector<int>& shadow_owners) {
  const models::Model model = build_model(models::model_named("mixtral-8x7b").value(),
                                          {.sequence = 256, .flash_attention = true});
  Strategy s;
  s.data = 8;
  s.experts.ranks = 8;
  TensorSplit split = tensor_split(model, s, -1);
  split.sharding.experts.shadow_owners = shadow_owners;
  return plan_block(model.blocks[1], split, s, ideal_a100());
}

}  // namespace

TEST_CASE("without shadows a rank computes all rows of its experts") {
  CHECK(rank_rows(popular_first(), 4, {}) == Experts{28, 4, 4, 4});
}

TEST_CASE("a shadowed expert's rows are computed where they are, and none is lost") {
  const Experts shadows{0};
  const Experts rows = rank_rows(popular_first(), 4, shadows);
  CHECK(rows == Experts{7, 11, 11, 11});
  CHECK(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) == 40);
}

TEST_CASE("an expert is shadowed as long as its parameters cost less than its rows") {
  // Without: 3 x 28 rows computed and 4 x 21 received, 168; with the first expert shadowed 3 x 11
  // and 4 x 3, 45, and its parameters twice. A second one would leave 12 rows to the last ranks.
  CHECK(chosen_shadows(popular_first(), costs(61.4)) == Experts{0});
  CHECK(chosen_shadows(popular_first(), costs(61.6)).empty());
}

TEST_CASE("an even load has no shadows, however cheap they are") {
  models::RoutedLayer even;
  even.experts = 4;
  even.rows.assign(16, 5);
  even.routed = 80;
  // One shadow leaves 20 + 5 rows to each of three ranks.
  CHECK(chosen_shadows(even, costs(0)).empty());
}

TEST_CASE("shadows belong to the ranks that hold them") {
  ExpertDraws draws;
  models::RoutedLayer layer;
  layer.experts = 8;
  draws.layers.push_back(layer);
  draws.shadows.push_back({5, 0});
  CHECK(shadow_owners(draws, 0, 4) == std::vector<int>{2, 0});
}

TEST_CASE("a shadowed expert stays on every rank until its backward") {
  // Three matrices of 4096 x 14336 in two bytes.
  const Bytes expert{std::int64_t{3} * 4096 * 14336 * 2};
  const BlockPlan alone = moe_layer({});
  const BlockPlan shadowed = moe_layer({3, 5});
  CHECK(shadowed.activations - alone.activations == 2 * expert);
  CHECK(shadowed.weights.own == alone.weights.own);
}

TEST_CASE("a shadowed expert comes before its rows are computed, and its gradients go back after") {
  const Bytes expert{std::int64_t{3} * 4096 * 14336 * 2};
  const BlockPlan plan = moe_layer({3, 5});
  const auto roots = [&](const std::vector<Piece>& pieces, cost::CollectiveOp op) {
    std::vector<int> list;
    for (const Piece& piece : pieces) {
      if (piece.kind != PieceKind::comm || piece.comm.op != op) { continue; }
      CHECK(piece.comm.size == expert);
      list.push_back(piece.comm.root);
    }
    return list;
  };
  CHECK(roots(plan.forward, cost::CollectiveOp::broadcast) == std::vector<int>{3, 5});
  CHECK(roots(plan.backward, cost::CollectiveOp::reduce) == std::vector<int>{3, 5});
  CHECK(roots(plan.forward, cost::CollectiveOp::reduce).empty());
}
