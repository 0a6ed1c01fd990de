#include "cost/synthesis/order.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cost/programs/expand.hpp"
#include "cost/synthesis/compose.hpp"
#include "tests/cost/synthesis/wires.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::synthesis;
using namespace tsim::cost::testing;
using enum CollectiveOp;

namespace {

std::string fault_of(const CollectiveProgram& program) { return fault(program).value_or("none"); }

std::vector<int> owners(int ranks, int pieces) {
  std::vector<int> all;
  for (int i = 0; i < ranks * pieces; ++i) { all.push_back(i / pieces); }
  return all;
}

}  // namespace

// Chunk 0 ends at rank 1, chunk 1 goes on to rank 2: it has the longer way before it.
TEST_CASE("on one connection the chunk with the longest way before it goes first") {
  Bench b(linked_node(3, {{0, 1}, {1, 2}}, 10e9, 1e-6));
  ProgramBuilder builder("test", broadcast, 3, 2);
  builder.add({.from = 0, .to = 1, .source = 0, .target = 0});
  builder.add({.from = 0, .to = 1, .source = 1, .target = 1});
  builder.add({.from = 1, .to = 2, .source = 1, .target = 1});
  const CollectiveProgram p = ordered(std::move(builder).finish(), ways_of(b, 3), 1e6);
  CHECK(p.steps[0].source == 1);
  CHECK(p.steps[1].source == 0);
  CHECK(std::ranges::equal(dependencies(p, 2), std::vector<StepId>{0}));
}

TEST_CASE("another order implements the same collective") {
  Bench b(nvswitch_node(6, {300e9}, {3e-6}));
  for (const auto* algorithm : {"ring", "tree", "direct", "halving_doubling"}) {
    const CollectiveProgram before = expand(all_reduce, algorithm, 6, 2);
    const CollectiveProgram after = ordered(before, ways_of(b, 6), 1e6);
    CHECK(fault_of(after) == "none");
    CHECK(after.steps.size() == before.steps.size());
  }
}

// Both chunks of rank 0 go straight to 1, where nothing waits for them; only 1's last step to 2
// hands on what came from 0.
TEST_CASE("neighbouring chunks that nothing waits for go together") {
  ProgramBuilder builder("test", broadcast, 3, 2);
  for (const int chunk : {0, 1}) {
    builder.add({.from = 0, .to = 1, .source = chunk, .target = chunk});
  }
  for (const int chunk : {0, 1}) {
    builder.add({.from = 1, .to = 2, .source = chunk, .target = chunk});
  }
  const CollectiveProgram p = merged(std::move(builder).finish());
  CHECK(fault_of(p) == "none");
  REQUIRE(p.steps.size() == 4);  // 1 -> 2 waits for one chunk each: together they would wait longer
  ProgramBuilder straight("test", broadcast, 3, 2);
  for (const int to : {1, 2}) {
    for (const int chunk : {0, 1}) {
      straight.add({.from = 0, .to = to, .source = chunk, .target = chunk});
    }
  }
  const CollectiveProgram joined = merged(std::move(straight).finish());
  CHECK(fault_of(joined) == "none");
  REQUIRE(joined.steps.size() == 2);
  CHECK(joined.steps[0].count == 2);
}

TEST_CASE("sums into one place wait for nobody, who reads it waits for all of them") {
  ProgramBuilder builder("test", all_reduce, 3, 1);
  builder.add({.from = 1, .to = 0, .reduce = true});
  builder.add({.from = 2, .to = 0, .reduce = true});
  builder.add({.from = 0, .to = 1});
  builder.add({.from = 0, .to = 2});
  const CollectiveProgram p = std::move(builder).finish();
  CHECK(fault_of(p) == "none");
  CHECK(dependencies(p, 0).empty());
  CHECK(dependencies(p, 1).empty());
  CHECK(std::ranges::equal(dependencies(p, 2), std::vector<StepId>{0, 1}));
  CHECK(std::ranges::equal(dependencies(p, 3), std::vector<StepId>{0, 1}));
}

// Ranks in a line: what goes from end to end is handed on twice or thrice.
TEST_CASE("routes over relays make programs of every collective") {
  Bench b(linked_node(4, {{0, 1}, {1, 2}, {2, 3}}, 25e9, 1e-6));
  const Ways ways = ways_of(b, 4), turned = ways.reversed();
  const Taste taste{1, 1, 2};
  for (const CollectiveOp op :
       {all_gather, reduce_scatter, all_reduce, broadcast, reduce, scatter, gather, all_to_all}) {
    for (const int pieces : {1, 3}) {
      CAPTURE(name_of(op));
      CAPTURE(pieces);
      const Work work{op, 4, pieces, op == all_reduce ? owners(4, pieces) : std::vector<int>{}};
      const auto demands = demands_of(work, 12e6);
      const auto routes = find_routes(inwards(op) ? turned : ways, demands, taste);
      const bool both = op == all_reduce;
      const auto in = both ? find_routes(turned, demands, taste) : routes;
      const CollectiveProgram p = compose(work, both || inwards(op) ? in : std::vector<Route>{},
                                          both || !inwards(op) ? routes : std::vector<Route>{});
      CHECK(fault_of(p) == "none");
      CHECK(fault_of(merged(ordered(p, ways, 12e6 / p.chunks))) == "none");
      for (const Step& step : p.steps) {
        CHECK((step.from == step.to || ways.open(step.from, step.to)));
      }
    }
  }
}

TEST_CASE("whole buffers that go everywhere and are added are an all-reduce") {
  Bench b(linked_node(4, {{0, 1}, {1, 2}, {2, 3}}, 25e9, 1e-6));
  const Ways ways = ways_of(b, 4);
  std::vector<Demand> demands;
  for (int i = 0; i < 8; ++i) { demands.push_back({i / 2, -1, 1e3}); }
  const CollectiveProgram p = compose_exchange(4, 2, find_routes(ways, demands, {1, 1, 0}));
  CHECK(fault_of(p) == "none");
  CHECK_FALSE(p.in_place);
}
