#include "strategies/tensor/reshard.hpp"

#include <doctest/doctest.h>

using namespace tsim;
using namespace tsim::strategies;
using cost::CollectiveOp;

namespace {

// 64 x 32 elements of 2 bytes: 4096 bytes as a whole.
const Resharding kMatrix{.extent = {64, 32}, .element = 2};

std::vector<ReshardStep> way(const TensorLayout& from, const TensorLayout& to) {
  return reshard(from, to, kMatrix);
}

}  // namespace

TEST_CASE("a tensor that lies where it is wanted does not move") {
  CHECK(way({{{1, 0}, {}}}, {{{1, 0}, {}}}).empty());
}

TEST_CASE("whole from shards of rows is one all-gather of the whole tensor") {
  const std::vector<ReshardStep> expected{{CollectiveOp::all_gather, {1, 4}, Bytes{4096}}};
  CHECK(way({{{1, 0}, {}}}, {{{}, {}}}) == expected);
}

TEST_CASE("shards of a tensor that all ranks hold are cut without communication") {
  const auto steps = way({{{}, {}}}, {{{}, {1, 0}}});
  REQUIRE(steps.size() == 1);
  CHECK_FALSE(steps.front().op.has_value());
  CHECK(received(steps) == 0);
}

TEST_CASE("rows to columns is an all-to-all of what a rank holds, not a gather and a cut") {
  // Each of 4 ranks keeps a quarter of its 1024 bytes and receives as much from the others: 768
  // bytes; a gather would receive 3072.
  const auto steps = way({{{1, 0}, {}}}, {{{}, {1, 0}}});
  const std::vector<ReshardStep> expected{{CollectiveOp::all_to_all, {1, 4}, Bytes{1024}}};
  CHECK(steps == expected);
  CHECK(received(steps) == 768);
}

TEST_CASE("summands that all ranks want are all-reduced") {
  const std::vector<ReshardStep> expected{{CollectiveOp::all_reduce, {1, 8}, Bytes{4096}}};
  CHECK(way({{{}, {}}, {0, 1, 2}}, {{{}, {}}}) == expected);
}

TEST_CASE("summands that are wanted in shards are reduce-scattered") {
  const std::vector<ReshardStep> expected{{CollectiveOp::reduce_scatter, {1, 8}, Bytes{4096}}};
  CHECK(way({{{}, {}}, {0, 1, 2}}, {{{2, 1, 0}, {}}}) == expected);
}

TEST_CASE("a group of high bits is spread over the ranks") {
  // Shards of rows over bit 2 of 8 ranks: pairs of ranks that are 4 apart.
  const std::vector<ReshardStep> expected{{CollectiveOp::all_gather, {4, 2}, Bytes{4096}}};
  CHECK(way({{{2}, {}}}, {{{}, {}}}) == expected);
}

TEST_CASE("a grid of 2 x 4 becomes rows alone by an all-to-all inside the grid's rows") {
  // [2, 4] over bits (2), (1, 0) to [8, 1]: groups of 4 neighbours exchange a rank's 512 bytes.
  const std::vector<ReshardStep> expected{{CollectiveOp::all_to_all, {1, 4}, Bytes{512}}};
  CHECK(way({{{2}, {1, 0}}}, {{{2, 1, 0}, {}}}) == expected);
}

TEST_CASE("a dimension that does not divide is never cut on the way") {
  // 3 columns cannot be cut in 2: rows are gathered and cut otherwise instead.
  const Resharding odd{.extent = {4, 3}, .element = 2};
  const TensorLayout from{{{1, 0}, {}}};
  const TensorLayout to{{{0, 1}, {}}};
  for (const ReshardStep& step : reshard(from, to, odd)) {
    CHECK(step.op != CollectiveOp::all_to_all);
  }
}

TEST_CASE("the same way back costs as much for all-to-alls, and nothing for gathers") {
  const TensorLayout rows{{{1, 0}, {}}};
  const TensorLayout columns{{{}, {1, 0}}};
  CHECK(received(way(rows, columns)) == received(way(columns, rows)));
  CHECK(received(way({{{}, {}}}, rows)) == 0);
}

TEST_CASE("every pair of layouts of eight ranks is joined, at no more than gather and cut") {
  // Each bit numbers rows, columns, or nothing.
  std::vector<TensorLayout> layouts;
  for (int code = 0; code < 27; ++code) {
    TensorLayout layout{{{}, {}}};
    for (int bit = 2, rest = code; bit >= 0; --bit, rest /= 3) {
      if (rest % 3 < 2) { layout.dims[static_cast<std::size_t>(rest % 3)].push_back(bit); }
    }
    layouts.push_back(layout);
  }
  for (const TensorLayout& from : layouts) {
    for (const TensorLayout& to : layouts) {
      const double whole = 4096;
      const double held = whole / shards(from.dims[0]) / shards(from.dims[1]);
      CHECK(received(way(from, to)) <= whole - held);
    }
  }
}
