#include "cost/programs/program.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "cost/collectives.hpp"
#include "cost/programs/expand.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::reduce_scatter,
                          CollectiveOp::all_gather, CollectiveOp::broadcast,
                          CollectiveOp::reduce,     CollectiveOp::scatter,
                          CollectiveOp::gather,     CollectiveOp::all_to_all};

std::string fault_of(const CollectiveProgram& program) { return fault(program).value_or("none"); }

/// The ring all-reduce of three ranks with one step changed. Its steps: rounds of three, two rounds
/// of reduce-scatter, then two of all-gather.
CollectiveProgram changed(StepId step, auto change) {
  CollectiveProgram program = expand(CollectiveOp::all_reduce, "ring", 3);
  change(program.steps[step]);
  return program;
}

}  // namespace

TEST_CASE("every expansion implements its collective for any number of ranks") {
  for (const CollectiveOp op : kOps) {
    for (const std::string_view algorithm : collective_algorithms(op)) {
      if (!has_program(op, algorithm)) { continue; }
      for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
        CAPTURE(name_of(op));
        CAPTURE(algorithm);
        CAPTURE(n);
        CHECK(fault_of(expand(op, algorithm, n)) == "none");
        CHECK(fault_of(expand(op, algorithm, n, 3)) == "none");
      }
    }
  }
}

TEST_CASE("every operation that moves data has a program") {
  for (const CollectiveOp op : kOps) {
    CHECK((has_program(op, "ring") || has_program(op, "direct")));
  }
  CHECK_FALSE(has_program(CollectiveOp::all_reduce, "in_switch"));
}

TEST_CASE("an all-reduce along the dimensions of a grid is one") {
  for (const std::vector<int>& sizes :
       {std::vector<int>{4, 2}, {2, 8}, {3, 3, 2}, {5}, {1, 4}, {2, 2, 2, 2}}) {
    CHECK(fault_of(grid_program(sizes)) == "none");
  }
}

TEST_CASE("rings in different orders side by side share a buffer") {
  const std::vector<std::vector<int>> rings{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {0, 2, 4, 1, 3}};
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    CHECK(fault_of(ring_program(op, rings)) == "none");
  }
}

// Patarasuk & Yuan 2009: n ranks send 2 (n - 1) pieces each.
TEST_CASE("a ring all-reduce of n ranks has 2 n (n - 1) sends") {
  CHECK(expand(CollectiveOp::all_reduce, "ring", 64).steps.size() == 2 * 63 * 64);
}

TEST_CASE("step by step a ring takes the aggregated time on wires of its own") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  for (const int n : {2, 5, 8}) {
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
      const auto devices = first_devices(n);
      CHECK(critical_path(expand(op, "ring", n), devices, 840_MB, b.router).value ==
            Approx(b.seconds(op, "ring", devices, 840_MB)).epsilon(1e-9));
    }
  }
}

TEST_CASE("step by step halving and doubling takes the aggregated time") {
  Bench b(nvswitch_node(16, {300e9}, {3e-6}));
  for (const int n : {4, 6, 16}) {
    const auto devices = first_devices(n);
    const auto program = expand(CollectiveOp::all_reduce, "halving_doubling", n);
    CHECK(critical_path(program, devices, 840_MB, b.router).value ==
          Approx(b.seconds(CollectiveOp::all_reduce, "halving_doubling", devices, 840_MB))
              .epsilon(1e-9));
  }
}

// A ring over two nodes passes 14 hops of 3 us and 2 of 5 us a round; a piece goes twice round but
// for two neighbouring hops, at best two of 3 us.
TEST_CASE("step by step and aggregated, a small piece's way round a mixed ring is the same") {
  Bench b(nvswitch_cluster(2, 8, {.bandwidth = {1e15}, .latency = {5e-6}}));
  const auto devices = first_devices(16);
  const double expected = 2 * (14 * 3e-6 + 2 * 5e-6) - 2 * 3e-6;
  const auto program = expand(CollectiveOp::all_reduce, "ring", 16);
  CHECK(critical_path(program, devices, 16_B, b.router).value == Approx(expected).epsilon(1e-6));
  CHECK(b.seconds(CollectiveOp::all_reduce, "ring", devices, 16_B) ==
        Approx(expected).epsilon(1e-6));
}

TEST_CASE("a chunk that is not complete everywhere is named") {
  // Step 11 is the last one: rank 2 hands piece 1 on to rank 0.
  const std::string wrong = fault_of(changed(11, [](Step& s) { s.to = s.from; }));
  CHECK(wrong ==
        "rank 0, output chunk 1 holds chunk 1 of ranks 0, 2, expected chunk 1 of ranks 0-2");
}

TEST_CASE("a contribution that is added twice is named with the step") {
  // Step 6 is the first of the all-gather: rank 0 gives rank 1 its piece, which is complete.
  const std::string wrong = fault_of(changed(6, [](Step& s) { s.reduce = true; }));
  CHECK(wrong.starts_with("step 6 adds to rank 1, output chunk 0: what rank "));
  CHECK(wrong.ends_with(" gave, a second time"));
}

TEST_CASE("different chunks are not added up") {
  const std::string wrong = fault_of(changed(0, [](Step& s) { s.target = s.source == 0 ? 1 : 0; }));
  CHECK(wrong.starts_with("step 0 adds to rank 1, output chunk "));
}

TEST_CASE("a chunk that is read before it is there is named") {
  ProgramBuilder builder("test", CollectiveOp::broadcast, 3, 1);
  builder.add({.from = 1, .to = 2});
  builder.add({.from = 0, .to = 1});
  CHECK(fault_of(std::move(builder).finish()) ==
        "step 0 reads rank 1, output chunk 0, where nothing has been put yet");
}

TEST_CASE("a missing dependency is found though the steps are listed in the right order") {
  ProgramBuilder builder("test", CollectiveOp::broadcast, 3, 1);
  builder.add({.from = 0, .to = 1});
  builder.add({.from = 1, .to = 2});
  CollectiveProgram program = std::move(builder).finish();
  CHECK(fault_of(program) == "none");
  program.after.clear();
  program.first = {0, 0, 0};
  CHECK(fault_of(program) == "step 1 reads rank 1, output chunk 0, where nothing has been put yet");
}

TEST_CASE("steps that wait for each other are named") {
  CollectiveProgram program = expand(CollectiveOp::broadcast, "ring", 3);
  program.after = {1, 0};
  program.first = {0, 1, 2};
  CHECK(fault_of(program) == "steps wait for each other: 0 for 1, 1 for 0");
  program.after = {1};
  program.first = {0, 0, 1};
  CHECK(fault_of(program) == "steps wait for each other: 1 for 1");
}

TEST_CASE("ranks, chunks and dependencies must exist") {
  CHECK(fault_of(changed(0, [](Step& s) { s.to = 3; })) ==
        "step 0: a rank or chunk that there is not");
  CHECK(fault_of(changed(4, [](Step& s) { s.target = 3; })) ==
        "step 4: a rank or chunk that there is not");
  CollectiveProgram program = expand(CollectiveOp::broadcast, "ring", 3);
  program.after = {7};
  CHECK(fault_of(program) == "a dependency on a step that there is not");
  CollectiveProgram odd = expand(CollectiveOp::all_gather, "ring", 3);
  odd.chunks = 4;
  CHECK(fault_of(odd) == "4 chunks for 3 ranks");
}

TEST_CASE("buffers have names") {
  CHECK(name_of(Buffer::input) == "input");
  CHECK(name_of(Buffer::output) == "output");
  CHECK(name_of(Buffer::scratch) == "scratch");
}
