#include "cost/synthesis/bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cost/synthesis/cuts.hpp"
#include "tests/cost/synthesis/wires.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::synthesis;
using namespace tsim::cost::testing;
using doctest::Approx;
using enum CollectiveOp;

namespace {

double bound(CollectiveOp op, Bench& b, int ranks, Bytes payload) {
  return lower_bound(op, payload, ways_of(b, ranks)).time.value;
}

}  // namespace

// n ranks on one switch, B each way: the figures that rings and direct exchanges reach but for
// their latencies beyond the first.
TEST_CASE("on one switch the bounds are those of bus bandwidth, and one latency") {
  constexpr double kAlpha = 3e-6, kTime = 240e6 / 300e9;
  Bench b(nvswitch_node(8, {300e9}, {kAlpha}));
  for (const auto& row :
       {std::pair{all_gather, 7.0 / 8}, std::pair{reduce_scatter, 7.0 / 8},
        std::pair{all_reduce, 14.0 / 8}, std::pair{all_to_all, 7.0 / 8}, std::pair{broadcast, 1.0},
        std::pair{reduce, 1.0}, std::pair{scatter, 7.0 / 8}, std::pair{gather, 7.0 / 8}}) {
    CAPTURE(name_of(row.first));
    CHECK(bound(row.first, b, 8, 240_MB) == Approx(kAlpha + row.second * kTime).epsilon(1e-9));
  }
}

TEST_CASE("a small payload is bound by the way to the farthest rank") {
  Bench b(linked_node(4, {{0, 1}, {1, 2}, {2, 3}}, 25e9, 2e-6));
  for (const CollectiveOp op : {all_gather, broadcast, reduce, all_to_all}) {
    CHECK(bound(op, b, 4, 1_B) == Approx(3 * 2e-6).epsilon(1e-3));
  }
}

// Two nodes of 8 with a NIC of B: half of S enters each in an all-gather or a reduce-scatter, S in
// an all-reduce, 8 x 8 messages of S / 16 in an all-to-all.
TEST_CASE("one NIC a node bounds what its eight ranks receive") {
  constexpr double kAlpha = 5e-6, kTime = 1e9 / 12.5e9;
  Bench b(nvswitch_cluster(2, 8, {.bandwidth = {12.5e9}, .latency = {kAlpha}}));
  const double nearest = 3e-6;  // latency inside a node
  CHECK(bound(all_gather, b, 16, 1_GB) == Approx(nearest + kTime / 2).epsilon(1e-9));
  CHECK(bound(reduce_scatter, b, 16, 1_GB) == Approx(nearest + kTime / 2).epsilon(1e-9));
  CHECK(bound(all_reduce, b, 16, 1_GB) == Approx(nearest + kTime).epsilon(1e-9));
  CHECK(bound(all_to_all, b, 16, 1_GB) == Approx(nearest + 4 * kTime).epsilon(1e-9));
}

// Four nodes: 2 (4 - 1) S pass their four NICs.
TEST_CASE("an all-reduce of four nodes moves six times the buffer between them") {
  Bench b(nvswitch_cluster(4, 8, {.bandwidth = {12.5e9}, .latency = {5e-6}}));
  const LowerBound found = lower_bound(all_reduce, 1_GB, ways_of(b, 32));
  CHECK(found.time.value == Approx(3e-6 + 1.5 * 1e9 / 12.5e9).epsilon(1e-9));
  CHECK(found.reason == "what must pass between 4 sets of 8 ranks");
}

// A rank in the middle of three sends on what it gets: each end gets 2/3 S over its one link. In an
// all-to-all the links carry 2 messages of S/3 each way. As a star at the middle of six, every link
// carries 5/6 S inwards and, for an all-to-all, 5 messages.
TEST_CASE("linked pairs bound what goes over them") {
  Bench chain(linked_node(3, {{0, 1}, {1, 2}}, 25e9, 0));
  CHECK(bound(all_gather, chain, 3, 300_MB) == Approx(200e6 / 25e9).epsilon(1e-9));
  CHECK(bound(all_to_all, chain, 3, 300_MB) == Approx(200e6 / 25e9).epsilon(1e-9));
  Bench star(linked_node(6, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}, 25e9, 0));
  CHECK(bound(all_gather, star, 6, 600_MB) == Approx(500e6 / 25e9).epsilon(1e-9));
  CHECK(bound(all_to_all, star, 6, 600_MB) == Approx(500e6 / 25e9).epsilon(1e-9));
}

// A ring of six links: every rank's entry takes 5/6 S over two links, but an all-to-all's messages
// go 1 + 1 + 2 + 2 + 3 = 9 links each way from each rank, 54 of S/6 over 12 directions.
TEST_CASE("an all-to-all on a ring is bound by all links together") {
  Bench b(linked_node(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}, 25e9, 0));
  const LowerBound found = lower_bound(all_to_all, 600_MB, ways_of(b, 6));
  CHECK(found.time.value == Approx(4.5 * 100e6 / 25e9).epsilon(1e-6));
}

TEST_CASE("what enters the ranks behind a channel is one of the cuts") {
  Bench b(cluster_of(two_socket_cards(4)));
  const Ways ways = ways_of(b, 4);
  const RankSet right{false, false, true, true};
  const std::vector<RankSet> sets = cut_sets(ways);
  CHECK(std::ranges::find(sets, right) != sets.end());
  CHECK(entry_rate(ways, right) == Approx(12e9));
  CHECK(entry_rate(ways, {false, false, false, true}) == Approx(12e9));
}

TEST_CASE("wires without limits bound by their latency alone") {
  NodeDesign node = nvswitch_design(4, {{kUnlimited, {1e-6}}});
  Bench b(cluster_of(node));
  CHECK(bound(all_reduce, b, 4, 1_GB) == Approx(2e-6));
}
