#include "strategies/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tsim::strategies;

namespace {

StageOrder order_of(std::string_view name, PipelineShape shape, int stage) {
  return schedule_named(name)->order(shape, {})[static_cast<std::size_t>(stage)];
}

/// Most (micro-batch, chunk) pairs that have run forward and not yet backward.
int most_held(const StageOrder& order) {
  int held = 0;
  int most = 0;
  for (const Action& a : order) {
    held += a.phase == Phase::forward ? 1 : -1;
    most = std::max(most, held);
  }
  return most;
}

}  // namespace

TEST_CASE("stage s (from 0) never holds more than p - s micro-batches under 1F1B") {
  // p = 8, m = 32: 8, 7, ... 1; GPipe holds all 32 on every stage.
  for (int stage = 0; stage < 8; ++stage) {
    CHECK(most_held(order_of("1f1b", {8, 32, 1}, stage)) == 8 - stage);
    CHECK(most_held(order_of("gpipe", {8, 32, 1}, stage)) == 32);
    CHECK(most_held(order_of("naive", {8, 32, 1}, stage)) == 1);
  }
}

TEST_CASE("fewer micro-batches than stages are all held by the first stages") {
  CHECK(most_held(order_of("1f1b", {8, 4, 1}, 0)) == 4);
  CHECK(most_held(order_of("1f1b", {8, 4, 1}, 6)) == 2);
}

TEST_CASE("interleaved warm-up follows 2(p-r-1) + (v-1)p") {
  // p = 4, v = 2, m = 8: 10, 8, 6, 4 forwards, then one more before the first backward.
  for (int stage = 0; stage < 4; ++stage) {
    const StageOrder order = order_of("interleaved", {4, 8, 2}, stage);
    const auto first_backward = std::find_if(
        order.begin(), order.end(), [](const Action& a) { return a.phase == Phase::backward; });
    CHECK(first_backward - order.begin() == 10 - 2 * stage + 1);
  }
  // Rank 0 then holds 11 chunk activations: 5.5 of a stage, 1 + (p-1)/(pv) = 1.375 times 4.
  CHECK(most_held(order_of("interleaved", {4, 8, 2}, 0)) == 11);
}

TEST_CASE("interleaving with as many micro-batches as stages runs all forwards first") {
  const StageOrder order = order_of("interleaved", {4, 4, 2}, 3);
  CHECK(std::all_of(order.begin(), order.begin() + 8,
                    [](const Action& a) { return a.phase == Phase::forward; }));
}

TEST_CASE("a forward pass runs every micro-batch through every chunk, p at a time") {
  // p = 2, v = 2, m = 3: micro-batches 0 and 1 through both chunks, then 2.
  const StageOrder order = forward_only({2, 3, 2});
  const StageOrder expected{{Phase::forward, 0, 0}, {Phase::forward, 1, 0}, {Phase::forward, 0, 1},
                            {Phase::forward, 1, 1}, {Phase::forward, 2, 0}, {Phase::forward, 2, 1}};
  CHECK(order == expected);
}

TEST_CASE("the two bubble measures are told apart") {
  // p = 8, m = 32: 7/39 of the step, 7/32 of the ideal time.
  CHECK(bubble_fraction({8, 32, 1}) == doctest::Approx(7.0 / 39));
  CHECK(bubble_ratio({8, 32, 1}) == doctest::Approx(7.0 / 32));
  // p = 16, m = 60: 25 %, 12.5 % with two chunks, 6.25 % with four.
  CHECK(bubble_ratio({16, 60, 1}) == doctest::Approx(0.25));
  CHECK(bubble_ratio({16, 60, 2}) == doctest::Approx(0.125));
  CHECK(bubble_ratio({16, 60, 4}) == doctest::Approx(0.0625));
}

TEST_CASE("an unknown schedule has no entry") { CHECK(schedule_named("2f2b") == nullptr); }
