#include "sim/run_program.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "cost/programs/expand.hpp"
#include "cost/programs/lay_out.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

sim::ProgramTimes run(const CollectiveProgram& program, std::vector<int> devices, Bytes payload,
                      Bench& bench) {
  const sim::ProgramRun one{&program, std::move(devices), payload};
  return sim::run_programs({&one, 1}, bench.router);
}

double seconds(CollectiveOp op, std::string_view algorithm, std::vector<int> devices, Bytes payload,
               Bench& bench) {
  return sim::run_steps({op, algorithm, std::move(devices), payload}, bench.router)->last.value;
}

/// Rank 0 to rank 1, once.
CollectiveProgram message() { return expand(CollectiveOp::send_recv, "direct", 2); }

}  // namespace

// Patarasuk & Yuan 2009: 2 (n - 1) (alpha + S / n B).
TEST_CASE("step by step a ring all-reduce takes 2(n-1) alpha + 2(n-1)/n S/B") {
  Bench b(nvswitch_node(64, {300e9}, {3e-6}));
  for (const int n : {2, 3, 7, 8, 64}) {
    CAPTURE(n);
    const double expected = 2 * (n - 1) * 3e-6 + 2.0 * (n - 1) / n * 840e6 / 300e9;
    CHECK(seconds(CollectiveOp::all_reduce, "ring", first_devices(n), 840_MB, b) ==
          Approx(expected).epsilon(1e-9));
    CHECK(seconds(CollectiveOp::all_gather, "ring", first_devices(n), 840_MB, b) ==
          Approx(expected / 2).epsilon(1e-9));
  }
}

// Piece 1 of 4 leaves, then the others behind it; each later hop adds a piece's time and alpha.
TEST_CASE("pieces of a broadcast follow one another down a chain") {
  Bench b(nvswitch_node(8, {100e9}, {3e-6}));
  std::vector<std::vector<int>> chain{first_devices(5)};
  const auto program = chain_program(CollectiveOp::broadcast, chain, 4);
  const double piece = 200e6 / 4 / 100e9;
  CHECK(run(program, first_devices(5), 200_MB, b).last.value ==
        Approx((4 + 5 - 2) * piece + 4 * 3e-6).epsilon(1e-9));
}

TEST_CASE("two equal messages over one NIC take twice one's time") {
  Bench b(nvswitch_cluster(2, 2, {.nics_per_node = 1, .bandwidth = {25e9}, .latency = {5e-6}}));
  const CollectiveProgram program = message();
  const std::vector<sim::ProgramRun> both{{&program, {0, 2}, 100_MB}, {&program, {1, 3}, 100_MB}};
  const auto times = sim::run_programs(both, b.router);
  const double alone = 100e6 / 25e9;
  CHECK(run(program, {0, 2}, 100_MB, b).last.value == Approx(alone + 5e-6).epsilon(1e-12));
  CHECK(times.end[0].value == Approx(2 * alone + 5e-6).epsilon(1e-12));
  CHECK(times.end[1].value == Approx(2 * alone + 5e-6).epsilon(1e-12));
}

// The short one has half the NIC until it ends at 2 S / B; the long one's other half then has all.
TEST_CASE("a message gets the whole NIC when the one beside it has ended") {
  Bench b(nvswitch_cluster(2, 2, {.nics_per_node = 1, .bandwidth = {25e9}, .latency = {5e-6}}));
  const CollectiveProgram program = message();
  const std::vector<sim::ProgramRun> both{{&program, {0, 2}, 100_MB}, {&program, {1, 3}, 300_MB}};
  const auto times = sim::run_programs(both, b.router);
  CHECK(times.end[0].value == Approx(200e6 / 25e9 + 5e-6).epsilon(1e-12));
  CHECK(times.end[1].value == Approx(400e6 / 25e9 + 5e-6).epsilon(1e-12));
}

TEST_CASE("messages in opposite directions, or over other NICs, do not meet") {
  Bench b(nvswitch_cluster(2, 2, {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}}));
  const CollectiveProgram program = message();
  const std::vector<sim::ProgramRun> all{
      {&program, {0, 2}, 100_MB}, {&program, {2, 0}, 100_MB}, {&program, {1, 3}, 100_MB}};
  for (const Seconds end : sim::run_programs(all, b.router).end) {
    CHECK(end.value == Approx(100e6 / 25e9 + 5e-6).epsilon(1e-12));
  }
}

TEST_CASE("alone, no program is quicker than its critical path, and rings are as quick") {
  Bench b(nvswitch_node(16, {300e9}, {3e-6}));
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                CollectiveOp::reduce_scatter, CollectiveOp::broadcast}) {
    for (const std::string_view algorithm : collective_algorithms(op)) {
      if (!has_program(op, algorithm)) { continue; }
      for (const int n : {2, 5, 8, 13}) {
        CAPTURE(name_of(op));
        CAPTURE(algorithm);
        CAPTURE(n);
        const auto program = expand(op, algorithm, n);
        const double bound = critical_path(program, first_devices(n), 84_MB, b.router).value;
        const double time = run(program, first_devices(n), 84_MB, b).last.value;
        CHECK(time >= bound * (1 - 1e-12));
        // Ranks beyond a power of two fold theirs in while the others are at it.
        const bool no_two_meet =
            algorithm == "ring" || (algorithm == "halving_doubling" && (n == 2 || n == 8));
        if (no_two_meet) { CHECK(time == Approx(bound).epsilon(1e-9)); }
      }
    }
  }
}

TEST_CASE("rings simulated as one take the time and load the links as when simulated apart") {
  const auto nics = [](int count) {
    return NetworkWiring{.nics_per_node = count, .bandwidth = {25e9}, .latency = {5e-6}};
  };
  for (const int count : {1, 2, 4}) {
    for (const int nodes : {2, 3, 4}) {
      CAPTURE(count);
      CAPTURE(nodes);
      Bench b(nvswitch_cluster(nodes, 4, nics(count)));
      const auto devices = first_devices(4 * nodes);
      const auto program = program_on(CollectiveOp::all_reduce, "ring", devices, 64_MB, b.router);
      const auto apart = run(*program, devices, 64_MB, b);
      const auto folded =
          sim::run_steps({CollectiveOp::all_reduce, "ring", devices, 64_MB}, b.router);
      CHECK(folded->last.value == Approx(apart.last.value).epsilon(1e-9));
      CHECK(apart.sends == folded->sends * static_cast<std::uint64_t>(count));
      for (std::size_t c = 0; c < apart.channel_bytes.size(); ++c) {
        CHECK(folded->channel_bytes[c] == Approx(apart.channel_bytes[c]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("a library's costs are added to every step, once, and at least") {
  Bench b(nvswitch_cluster(2, 2, {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}}));
  const StepCosts costs{{10e-6}, {2e-6}, {7e-6}, {}, 0.5};
  const CollectiveProgram program = message();
  const auto time = [&](std::vector<int> devices, StepCosts with) {
    const sim::ProgramRun one{&program, std::move(devices), 1_MB, with};
    return sim::run_programs({&one, 1}, b.router).last.value;
  };
  CHECK(time({0, 1}, costs) == Approx(10e-6 + 3e-6 + 2e-6 + 1e6 / 0.5 / 300e9).epsilon(1e-12));
  CHECK(time({0, 2}, costs) == Approx(10e-6 + 5e-6 + 7e-6 + 1e6 / 0.5 / 25e9).epsilon(1e-12));
  CHECK(time({0, 1}, {.least = {1e-3}}) == Approx(1e-3).epsilon(1e-12));
}

TEST_CASE("one rank and an empty message take no time of the wires") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  CHECK(seconds(CollectiveOp::all_reduce, "ring", {5}, 1_GB, b) == 0);
  CHECK(seconds(CollectiveOp::all_reduce, "ring", first_devices(4), 0_B, b) ==
        Approx(6 * 3e-6).epsilon(1e-12));
  CHECK(seconds(CollectiveOp::barrier, "dissemination", first_devices(8), 0_B, b) ==
        Approx(3 * 3e-6).epsilon(1e-12));
}

TEST_CASE("a program that waits for itself is refused and its steps are named") {
  Bench b(nvswitch_node(4, {300e9}, {3e-6}));
  CollectiveProgram program = expand(CollectiveOp::broadcast, "ring", 4);
  program.after = {2, 0, 1};
  program.first = {0, 1, 2, 3};
  CHECK_THROWS_WITH(run(program, first_devices(4), 1_MB, b),
                    "ring: steps wait for each other: 0 for 2, 2 for 1, 1 for 0");
}

TEST_CASE("equal runs give equal bytes") {
  Bench b(nvswitch_cluster(3, 4, {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}}));
  const auto once = [&] {
    return seconds(CollectiveOp::all_reduce, "tree", first_devices(11), 7_MB, b);
  };
  CHECK(once() == once());
}
