// Each algorithm step by step against its steps added up.
#include <doctest/doctest.h>

#include <algorithm>

#include "cost/programs/lay_out.hpp"
#include "sim/run_program.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using namespace tsim::sim;
using doctest::Approx;
using enum CollectiveOp;

namespace {

constexpr std::array kRanks{2, 3, 4, 5, 6, 7, 8, 9, 16, 17};

struct Named {
  CollectiveOp op;
  std::string_view algorithm;
};

/// Every event of the planner's program on these devices.
double by_steps(Bench& b, Named named, const std::vector<int>& devices, Bytes payload) {
  const auto program = program_on(named.op, named.algorithm, devices, payload, b.router);
  REQUIRE(program.has_value());
  const bool has_demand = named.op != send_recv && named.op != barrier;
  if (has_demand) { CHECK(fault(*program).value_or("none") == "none"); }
  const ProgramRun run{&*program, devices, payload,
                       b.plan(named.op, named.algorithm, devices, payload).costs};
  return run_programs({&run, 1}, b.router).last.value;
}

}  // namespace

TEST_CASE("algorithms in rounds take the sum of their steps for any number of ranks") {
  Bench b(nvswitch_node(17, {300e9}, {3e-6}));
  for (const Named named : {Named{all_reduce, "ring"},
                            {all_reduce, "direct"},
                            {all_reduce, "sharded_server"},
                            {all_reduce, "parameter_server"},
                            {reduce_scatter, "ring"},
                            {reduce_scatter, "direct"},
                            {all_gather, "ring"},
                            {all_gather, "direct"},
                            {all_gather, "bruck"},
                            {broadcast, "direct"},
                            {reduce, "direct"},
                            {scatter, "direct"},
                            {gather, "direct"},
                            {all_to_all, "direct"},
                            {all_to_all, "bruck"},
                            {send_recv, "direct"},
                            {all_reduce, "halving_doubling"},
                            {reduce_scatter, "halving"},
                            {all_gather, "doubling"},
                            {barrier, "dissemination"}}) {
    for (const int n : kRanks) {
      CAPTURE(name_of(named.op));
      CAPTURE(named.algorithm);
      CAPTURE(n);
      const auto devices = first_devices(n);
      const Bytes payload = named.op == barrier ? 0_B : 84_MB;
      CHECK(by_steps(b, named, devices, payload) ==
            Approx(b.seconds(named.op, named.algorithm, devices, payload)).epsilon(1e-9));
    }
  }
}

// Thakur, Rabenseifner, Gropp 2005: log2 n steps, (n-1)/n S; 6 ranks: S or (5/6) S for the two that
// fold, S/6 the other way, and runs of 3 + 2 (two of 4 and two folded) and 1 + 1 of 6 chunks.
TEST_CASE("half of halving and doubling moves half of its bytes") {
  constexpr double kAlpha = 3e-6, kTime = 84e6 / 300e9;
  Bench b(nvswitch_node(8, {300e9}, {kAlpha}));
  for (const Named named : {Named{reduce_scatter, "halving"}, {all_gather, "doubling"}}) {
    CHECK(b.seconds(named.op, named.algorithm, first_devices(8), 84_MB) ==
          Approx(3 * kAlpha + 7.0 / 8 * kTime).epsilon(1e-9));
  }
  CHECK(b.seconds(reduce_scatter, "halving", first_devices(6), 84_MB) ==
        Approx(4 * kAlpha + (1 + 4.0 / 6 + 2.0 / 6 + 1.0 / 6) * kTime).epsilon(1e-9));
  CHECK(b.seconds(all_gather, "doubling", first_devices(6), 84_MB) ==
        Approx(4 * kAlpha + (1.0 / 6 + 2.0 / 6 + 4.0 / 6 + 5.0 / 6) * kTime).epsilon(1e-9));
}

// A root sends all of S to each of the others over its one link.
TEST_CASE("a star's root moves the whole buffer to or from every rank") {
  constexpr double kAlpha = 3e-6, kTime = 84e6 / 300e9;
  Bench b(nvswitch_node(8, {300e9}, {kAlpha}));
  for (const CollectiveOp op : {broadcast, reduce}) {
    CHECK(b.seconds(op, "direct", first_devices(8), 84_MB) ==
          Approx(kAlpha + 7 * kTime).epsilon(1e-9));
  }
}

// Two nodes of four with a NIC for each rank: 3/4 S inside at 300 GB/s, (1/2) S / 4 between nodes
// at 25, at the same time once all pieces are on their way, or one after the other; 3 + 1
// latencies.
TEST_CASE("half of a hierarchical all-reduce takes half of its time") {
  Bench b(nvswitch_cluster(2, 4, {.nics_per_node = 4, .bandwidth = {25e9}, .latency = {5e-6}}));
  const auto devices = first_devices(8);
  const double s = to_double(64_MiB), inside = 0.75 * s / 300e9, between = s / 8 / 25e9;
  const double latency = 3 * 3e-6 + 5e-6;
  for (const CollectiveOp op : {reduce_scatter, all_gather}) {
    CHECK(b.seconds(op, "hierarchical", devices, 64_MiB) ==
          Approx(between + latency).epsilon(1e-9));
    const double steps = by_steps(b, {op, "hierarchical"}, devices, 64_MiB);
    CHECK(steps >= between);
    CHECK(steps <= inside + between + latency);
  }
}

// 4 x 4 routers with one device each: 3/4 S along the first dimension, a quarter of it along the
// second, half of either each way round.
TEST_CASE("a torus's program goes both ways round each dimension") {
  NodeDesign node;
  node.devices.resize(1);
  node.nics.push_back({{}, {}, {0}});
  Bench b(build_cluster(
      ClusterDesign{"torus", {Device{}}, {{node, 16}}, Torus{{4, 4}, 1, {{10e9}, {1e-6}}}}));
  const auto devices = first_devices(16);
  const double sum = b.seconds(all_reduce, "torus", devices, 64_MiB);
  const double steps = by_steps(b, {all_reduce, "torus"}, devices, 64_MiB);
  CHECK(steps >= 0.75 * to_double(64_MiB) / 10e9);
  CHECK(steps <= sum * 1.1);
}

TEST_CASE("a broadcast after a reduce waits for the whole of it") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const auto devices = first_devices(8);
  const double both = by_steps(b, {reduce, "tree"}, devices, 64_MiB) +
                      by_steps(b, {broadcast, "tree"}, devices, 64_MiB);
  CHECK(by_steps(b, {all_reduce, "reduce_broadcast"}, devices, 64_MiB) ==
        Approx(both).epsilon(1e-9));
}
