#include "strategies/check_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/schedule.hpp"

using namespace tsim::strategies;

namespace {

PipelineShape shape_for(const Schedule& schedule, int stages, int micro_batches, int chunks) {
  return {.stages = stages,
          .micro_batches = micro_batches,
          .chunks = schedule.chunks > 0 ? schedule.chunks : chunks,
          .placement = schedule.placement};
}

bool allowed(const Schedule& schedule, const PipelineShape& shape) {
  return schedule.demand == nullptr || !schedule.demand(shape);
}

/// Most micro-batches that wait for the end of their backward, in chunks.
int most_held(const StageOrder& order) {
  int held = 0;
  int most = 0;
  for (const Action& a : order) {
    if (a.phase == Phase::forward) { ++held; }
    if (a.phase == Phase::backward || a.phase == Phase::weight_grad) { --held; }
    most = std::max(most, held);
  }
  return most;
}

PipelineOrder two_stages(StageOrder first, StageOrder second) {
  return {std::move(first), std::move(second)};
}

constexpr Phase F = Phase::forward;
constexpr Phase B = Phase::backward;
constexpr Phase I = Phase::input_grad;
constexpr Phase W = Phase::weight_grad;

}  // namespace

TEST_CASE("every schedule is complete and ends, on every shape that it allows") {
  for (const Schedule& schedule : schedules()) {
    for (int p = 1; p <= 9; ++p) {
      for (const int m : {1, 2, 3, 5, 8, 9, 12, 16, 18, 27}) {
        for (const int v : {1, 2, 3, 4, 6}) {
          const PipelineShape shape = shape_for(schedule, p, m, v);
          if (!allowed(schedule, shape)) { continue; }
          const PipelineOrder order = schedule.order(shape, {});
          CAPTURE(schedule.name);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          REQUIRE(order.size() == static_cast<std::size_t>(p));
          CHECK(find_incomplete(shape, order).value_or("") == "");
          CHECK(find_deadlock(shape, order, false).value_or("") == "");
          if (schedule.chunks != 0) { break; }  // v makes no difference
        }
      }
    }
  }
}

TEST_CASE("no schedule holds less than the turn of the first micro-batch forces on it") {
  // A stage that the first micro-batch passes k times before its backward holds k chunks at least;
  // 1F1B's stage s the p - s that fill the pipeline behind it, when there are so many.
  for (const Schedule& schedule : schedules()) {
    const PipelineShape shape = shape_for(schedule, 4, 16, 2);
    if (!allowed(schedule, shape)) { continue; }
    const bool copies = shape.placement == Placement::bidirectional;
    for (const StageOrder& order : schedule.order(shape, {})) {
      CAPTURE(schedule.name);
      CHECK(most_held(order) >= (copies ? 1 : shape.chunks));
      CHECK(most_held(order) <= 16 * shape.chunks);
    }
  }
}

TEST_CASE("groups of any size that Megatron-core allows end; those that it refuses are refused") {
  const Schedule& interleaved = *schedule_named("interleaved");
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 14; ++m) {
      for (int group = 1; group <= 14; ++group) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .chunks = 2, .group = group};
        const int rest = m % group;
        const bool fits = group >= std::min(p, m) && (rest == 0 || rest >= p || m <= group);
        CHECK(allowed(interleaved, shape) == fits);
        if (!fits) { continue; }
        const PipelineOrder order = interleaved.order(shape, {});
        CHECK_FALSE(find_incomplete(shape, order));
        CHECK_FALSE(find_deadlock(shape, order, false));
      }
    }
  }
}

TEST_CASE("the strict order with 10 micro-batches on 4 stages is refused with the way out") {
  const auto demand =
      schedule_named("interleaved")->demand({.stages = 4, .micro_batches = 10, .chunks = 2});
  REQUIRE(demand);
  CHECK(demand->expected == "a multiple of pipeline = 4 with schedule \"interleaved\"");
  CHECK(demand->hint == "nearest valid: 8 or 12; or keep them, with micro_batch_group = 5");
}

TEST_CASE("what is missing, twice or too early is named") {
  const PipelineShape one{.stages = 1, .micro_batches = 2};
  CHECK(find_incomplete(one, {{{F, 0}, {B, 0}, {F, 1}}}).value() == "B1 of stage 0 is missing");
  CHECK(find_incomplete(one, {{{F, 0}, {F, 0}}}).value() == "F0 of stage 0 is there twice");
  CHECK(find_incomplete(one, {{{B, 0}, {F, 0}}}).value() == "B0 of stage 0 comes before its F");
  CHECK(find_incomplete(one, {{{F, 0}, {W, 0}, {I, 0}}}).value() ==
        "W0 of stage 0 comes before its B");
  CHECK(find_incomplete(one, {{{F, 0}, {I, 0}, {F, 1}, {B, 1}}}).value() ==
        "W0 of stage 0 is missing");
}

TEST_CASE("a micro-batch takes one direction") {
  const PipelineShape both{
      .stages = 2, .micro_batches = 1, .chunks = 2, .placement = Placement::bidirectional};
  const PipelineOrder order = two_stages({{F, 0, 0}, {B, 0, 0}}, {{F, 0, 1}, {B, 0, 1}});
  CHECK(find_incomplete(both, order).value() == "F0.0 of stage 1 is missing");
  const PipelineOrder twice =
      two_stages({{F, 0, 0}, {B, 0, 0}}, {{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}});
  CHECK(find_incomplete(both, twice).value() == "micro-batch 0 takes both directions");
}

TEST_CASE("a deadlock names the stages and micro-batches that wait for each other") {
  // Stage 0 wants the gradient of 0 before it sends 1; stage 1 wants 1 before it makes it.
  const PipelineShape shape{.stages = 2, .micro_batches = 2};
  const PipelineOrder order =
      two_stages({{F, 0}, {B, 0}, {F, 1}, {B, 1}}, {{F, 0}, {F, 1}, {B, 0}, {B, 1}});
  CHECK(find_deadlock(shape, order, false).value() ==
        "B0 of stage 0 waits for B0 of stage 1, F1 of stage 1 waits for F1 of stage 0");
}

TEST_CASE("a turn of a V before its first leg waits for itself") {
  const PipelineShape shape{
      .stages = 1, .micro_batches = 1, .chunks = 2, .placement = Placement::wave};
  const PipelineOrder order{{{F, 0, 1}, {F, 0, 0}, {B, 0, 1}, {B, 0, 0}}};
  CHECK(find_deadlock(shape, order, false).value() == "F0.1 of stage 0 waits for F0.0 of stage 0");
}

TEST_CASE("blocking exchanges end under 1F1B and GPipe, as in Megatron-LM") {
  for (const char* name : {"naive", "gpipe", "1f1b"}) {
    for (int p = 1; p <= 6; ++p) {
      for (const int m : {1, 2, 5, 8}) {
        const PipelineShape shape{.stages = p, .micro_batches = m};
        CHECK_FALSE(find_deadlock(shape, schedule_named(name)->order(shape, {}), true));
      }
    }
  }
}

TEST_CASE("two stages that both send before they receive block each other") {
  // Both directions at once: stage 0 sends 0 down, stage 1 sends 1 up, then each its own again.
  const PipelineShape shape{
      .stages = 2, .micro_batches = 4, .chunks = 2, .placement = Placement::bidirectional};
  const PipelineOrder order = two_stages(
      {{F, 0, 0}, {F, 2, 0}, {F, 1, 1}, {F, 3, 1}, {B, 1, 1}, {B, 3, 1}, {B, 0, 0}, {B, 2, 0}},
      {{F, 1, 1}, {F, 3, 1}, {F, 0, 0}, {F, 2, 0}, {B, 0, 0}, {B, 2, 0}, {B, 1, 1}, {B, 3, 1}});
  REQUIRE_FALSE(find_incomplete(shape, order));
  CHECK_FALSE(find_deadlock(shape, order, false));
  CHECK(find_deadlock(shape, order, true).value() ==
        "F2.0 of stage 0 waits for F3.1 of stage 1, F3.1 of stage 1 waits for F2.0 of stage 0");
}

TEST_CASE("parts are placed in loops, waves and both directions") {
  const auto parts = [](Placement placement, int chunks) {
    std::vector<int> list;
    for (int c = 0; c < chunks; ++c) {
      for (int s = 0; s < 3; ++s) {
        list.push_back(part_of({.stages = 3, .chunks = chunks, .placement = placement}, {s, c}));
      }
    }
    return list;
  };
  CHECK(parts(Placement::loop, 2) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(parts(Placement::wave, 3) == std::vector<int>{0, 1, 2, 5, 4, 3, 6, 7, 8});
  CHECK(parts(Placement::bidirectional, 2) == std::vector<int>{0, 1, 2, 2, 1, 0});
}

TEST_CASE("neighbours lead through all parts of the model in order") {
  for (const Placement placement : {Placement::loop, Placement::wave, Placement::bidirectional}) {
    const PipelineShape shape{.stages = 4, .chunks = 2, .placement = placement};
    std::optional<Seat> seat = Seat{0, 0};
    int part = 0;
    for (; seat; seat = neighbour(shape, *seat, 1), ++part) {
      CHECK(part_of(shape, *seat) == part);
      if (part > 0) { CHECK(part_of(shape, neighbour(shape, *seat, -1).value()) == part - 1); }
    }
    CHECK(part == part_count(shape));
  }
}

TEST_CASE("a forward pass alone ends under every placement and passes every part once") {
  for (const Placement placement : {Placement::loop, Placement::wave, Placement::bidirectional}) {
    for (int p = 1; p <= 6; ++p) {
      for (const int m : {1, 4, 7, 12}) {
        const int v = placement == Placement::bidirectional ? 2 : 4;
        const PipelineShape shape{
            .stages = p, .micro_batches = m, .chunks = v, .placement = placement};
        const PipelineOrder order = forward_orders(shape);
        CHECK_FALSE(find_deadlock(shape, order, false));
        std::size_t forwards = 0;
        for (const StageOrder& stage : order) { forwards += stage.size(); }
        CHECK(forwards == static_cast<std::size_t>(m * part_count(shape)));
      }
    }
  }
}
