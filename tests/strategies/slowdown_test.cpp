#include "strategies/slowdown.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace tsim;
using namespace tsim::strategies;

namespace {

Strategy degrees(int tensor, int pipeline, int data) {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = data;
  return s;
}

}  // namespace

TEST_CASE("jitter has mean 1 and the variation that was asked for") {
  for (const double variation : {0.05, 0.5}) {
    const Jitter jitter{.variation = variation, .seed = 7};
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 40'000;
    for (int i = 0; i < kDraws; ++i) {
      const double f = jitter_factor(jitter, i % 100, i / 100);
      CHECK(f > 0);
      sum += f;
      squares += f * f;
    }
    const double mean = sum / kDraws;
    const double deviation = std::sqrt(squares / kDraws - mean * mean);
    // The mean of n draws strays by variation/sqrt(n): 4 of these.
    CHECK(std::abs(mean - 1) < 4 * variation / std::sqrt(kDraws));
    CHECK(deviation / mean == doctest::Approx(variation).epsilon(0.03));
  }
}

TEST_CASE("half of the draws of jitter are below exp(-sigma^2/2), the median of a log-normal") {
  const Jitter jitter{.variation = 1.0, .seed = 3};
  const double median = std::exp(-std::log(2.0) / 2);  // sigma^2 = ln 2
  int below = 0;
  for (int i = 0; i < 10'000; ++i) { below += jitter_factor(jitter, i, 0) < median ? 1 : 0; }
  CHECK(below == doctest::Approx(5000).epsilon(0.04));  // 4 standard deviations of 50
}

TEST_CASE("jitter of a device depends on seed, device and draw alone") {
  const Jitter jitter{.variation = 0.2, .seed = 1};
  CHECK(jitter_factor(jitter, 3, 0) == jitter_factor(jitter, 3, 0));
  CHECK(jitter_factor(jitter, 3, 0) != jitter_factor(jitter, 4, 0));
  CHECK(jitter_factor(jitter, 3, 0) != jitter_factor(jitter, 3, 1));
  CHECK(jitter_factor(jitter, 3, 0) != jitter_factor({.variation = 0.2, .seed = 2}, 3, 0));
  CHECK(jitter_factor({.variation = 0, .seed = 1}, 3, 0) == 1.0);
}

TEST_CASE("ranks are folded only along axes on which all are as slow as each other") {
  const Layout layout(degrees(2, 1, 2));  // rank = tensor + 2 data
  const FoldedAxes both{true, true};
  CHECK(fold_alike(both, layout, {}) == both);
  CHECK(fold_alike(both, layout, std::vector{1.5, 1.5, 1.5, 1.5}) == both);
  CHECK(fold_alike(both, layout, std::vector{1.0, 1.2, 1.0, 1.2}) == FoldedAxes{false, true});
  CHECK(fold_alike(both, layout, std::vector{1.0, 1.0, 1.2, 1.2}) == FoldedAxes{true, false});
  CHECK(fold_alike(both, layout, std::vector{1.0, 1.0, 1.0, 1.2}) == FoldedAxes{});
  CHECK(fold_alike({false, true}, layout, std::vector{1.0, 1.0, 1.2, 1.2}) == FoldedAxes{});
}

TEST_CASE("stages that differ in slowness fold within each") {
  const Layout layout(degrees(1, 2, 2));  // rank = data + 2 stage
  CHECK(fold_alike({true, true}, layout, std::vector{1.0, 1.0, 2.0, 2.0}) ==
        FoldedAxes{true, true});
}

TEST_CASE("a stage's plan is slowed by its slowest rank") {
  std::vector<StagePlan> plans(2);
  for (StagePlan& plan : plans) {
    plan.chunks.resize(1);
    plan.chunks.front().forward.steps.push_back({.duration = Seconds{1.0}});
    plan.chunks.front().last_backward.steps.push_back({.duration = Seconds{2.0}});
    plan.optimizer = Seconds{0.5};
  }
  const auto slowed =
      slowed_plans(plans, Layout(degrees(1, 2, 2)), std::vector{1.0, 1.2, 1.0, 1.0});
  CHECK(slowed[0].chunks[0].forward.steps[0].duration.value == doctest::Approx(1.2));
  CHECK(slowed[0].chunks[0].last_backward.steps[0].duration.value == doctest::Approx(2.4));
  CHECK(slowed[0].optimizer.value == doctest::Approx(0.6));
  CHECK(slowed[1].chunks[0].forward.steps[0].duration.value == 1.0);
}
