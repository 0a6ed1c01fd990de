#include "strategies/weave.hpp"

#include <doctest/doctest.h>

#include "strategies/program.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::strategies;

namespace {

std::vector<Piece> one_second() {
  Piece p;
  p.on_device = Seconds{1};
  p.launches = 1;
  p.gradients = 10;
  return {p};
}

GatherPlan gathers_ahead(int ahead) {
  GatherPlan plan;
  plan.gathers = true;
  plan.comm = {cost::CollectiveOp::all_gather, {GroupAxis::replica, 4}, Stream::dp, {}};
  plan.wire_bytes = 1;
  plan.held = 2_B;
  plan.ahead = ahead;
  return plan;
}

/// Names of steps: g for a gather, c for a computation, s for gradients that are sent.
std::string shape_of(const Program& program) {
  std::string text;
  for (const Step& step : program.steps) {
    text += !step.is_comm ? 'c' : step.phase == Phase::gradient_sync ? 's' : 'g';
  }
  return text;
}

/// Gathered bytes that are held while each computation runs.
std::vector<std::int64_t> held(const Program& program) {
  std::vector<std::int64_t> list;
  std::int64_t now = 0;
  for (const Step& step : program.steps) {
    for (const MemoryChange& c : step.memory) { now += c.at_start.value; }
    if (!step.is_comm) { list.push_back(now); }
    for (const MemoryChange& c : step.memory) { now += c.at_end.value; }
  }
  return list;
}

}  // namespace

TEST_CASE("a block is gathered while the one before it computes") {
  const auto pieces = one_second();
  const std::vector<WovenBlock> blocks(3, WovenBlock{pieces, 100});
  const Program p = make_program(weave(blocks, Phase::forward, gathers_ahead(1)), {});
  REQUIRE(shape_of(p) == "ggcgcc");
  CHECK(p.steps[0].comm.size == 100_B);
  CHECK(p.steps[1].after.empty());                 // the second gather starts with the first block
  CHECK(p.steps[2].after == std::vector<int>{0});  // which waits for its own only
  CHECK(p.steps[3].after == std::vector<int>{2});  // the third when the first has been freed
  CHECK(p.steps[4].after == std::vector<int>{2, 1});
  CHECK(p.steps[5].after == std::vector<int>{4, 3});
  CHECK(held(p) == std::vector<std::int64_t>{400, 400, 200});
}

TEST_CASE("without prefetch every block waits for its own gather") {
  const auto pieces = one_second();
  const std::vector<WovenBlock> blocks(3, WovenBlock{pieces, 100});
  const Program p = make_program(weave(blocks, Phase::forward, gathers_ahead(0)), {});
  CHECK(shape_of(p) == "gcgcgc");
  CHECK(held(p) == std::vector<std::int64_t>{200, 200, 200});
}

TEST_CASE("what is kept whole or has stayed is not gathered") {
  const auto pieces = one_second();
  const std::vector<WovenBlock> blocks{{pieces, 100}, {pieces, 0}, {pieces, 100}};
  GatherPlan plan = gathers_ahead(1);
  plan.first_is_here = true;
  CHECK(shape_of(make_program(weave(blocks, Phase::backward, plan), {})) == "cgcc");
  plan.all_are_here = true;
  CHECK(shape_of(make_program(weave(blocks, Phase::backward, plan), {})) == "c");
}

TEST_CASE("gradients of a block are sent when they are complete, and nothing waits for them") {
  const auto pieces = one_second();
  const std::vector<WovenBlock> blocks(2, WovenBlock{pieces, 100});
  GatherPlan plan;
  plan.flushes = true;
  BucketLimits buckets{1'000'000, 1'000'000};
  buckets.sends = {
      {{cost::CollectiveOp::reduce_scatter, {GroupAxis::replica, 4}, Stream::dp, {}}, 4},
      {{cost::CollectiveOp::all_reduce, {GroupAxis::replica, 2, 4}, Stream::dp, {}}, 1}};
  buckets.gradient = 4_B;
  const Program p = make_program(weave(blocks, Phase::backward, plan), {}, buckets);
  REQUIRE(shape_of(p) == "csscss");
  CHECK(p.steps[1].comm.size == 40_B);
  CHECK(p.steps[2].comm.size == 10_B);
  CHECK(p.steps[2].after == std::vector<int>{1});
  CHECK(p.steps[3].after == std::vector<int>{0});
  CHECK(p.exits == std::vector<int>{3});
}
