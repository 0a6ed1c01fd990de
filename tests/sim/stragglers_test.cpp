// Ranks that compute slower than the others, and what the others do meanwhile.
#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// Eight replicas; gradients are reduced after the last backward, or beside it.
sim::Scenario replicas(bool overlap) {
  sim::Scenario s = sample("gpt3-1.3b", {1, 1, 8}, 16, 2);
  s.strategy.overlap_gradients = overlap;
  return s;
}

sim::Scenario with_slow(sim::Scenario s, int rank, double factor) {
  s.slowdown.assign(static_cast<std::size_t>(device_count(s.cluster)), 1.0);
  s.slowdown[static_cast<std::size_t>(rank)] = factor;
  return s;
}

}  // namespace

// astra-sim issue 292: of 8 replicas one computes 1.2 times as long.
TEST_CASE("one rank of eight at 1.2 lengthens the step by 0.2 of its computing") {
  const AnsweredRun even = run_and_answer(replicas(false));
  const AnsweredRun slow = run_and_answer(with_slow(replicas(false), 5, 1.2));
  const double compute = even.report.stages[0].times.busy.value;
  const double rise = slow.report.step.value - even.report.step.value;
  CHECK(rise == doctest::Approx(0.2 * compute).epsilon(1e-9));
  REQUIRE(slow.report.straggler.has_value());
  const sim::Straggler& who = *slow.report.straggler;
  CHECK(who.rank == 5);
  CHECK(who.slowdown == 1.2);
  CHECK(who.added.value == doctest::Approx(0.2 * compute).epsilon(1e-9));
  // All others wait for it, all before the reduction and at the end.
  CHECK(who.others_idle.value == doctest::Approx(0.2 * compute).epsilon(1e-9));
  CHECK(who.most_idle.value == doctest::Approx(0.2 * compute).epsilon(1e-9));
  CHECK_FALSE(even.report.straggler.has_value());
}

TEST_CASE("what overlaps with a straggler's computing lengthens the step by no more") {
  const AnsweredRun even = run_and_answer(replicas(true));
  const AnsweredRun slow = run_and_answer(with_slow(replicas(true), 0, 1.2));
  const double compute = even.report.stages[0].times.busy.value;
  const double rise = slow.report.step.value - even.report.step.value;
  // Hidden communication of the even step may be hidden no better than by 0.2 of the computing.
  CHECK(rise > 0);
  CHECK(rise <= doctest::Approx(0.2 * compute).epsilon(1e-9));
  CHECK(rise >= 0.2 * compute - even.report.exposed_fraction * even.report.step.value);
  CHECK(slow.report.straggler->rank == 0);
  CHECK(slow.report.straggler->others_idle > Seconds{});
}

TEST_CASE("a pipeline of equal stages with a slow one takes the slow one's time a micro-batch") {
  // m micro-batches: the others' phases once, the slow stage's m times. Messages take a little.
  sim::Scenario s = sample("gpt3-1.3b", {1, 4, 1}, 32, 1);
  const AnsweredRun even = run_and_answer(s);
  const AnsweredRun slow = run_and_answer(with_slow(s, 2, 1.5));
  const double stage = even.report.stages[2].times.busy.value;
  const double rise = slow.report.step.value - even.report.step.value;
  // The last stage, with the head, set the pace before: at most half the slow stage is added.
  CHECK(rise <= 0.5 * stage);
  CHECK(slow.report.step.value >= 1.5 * stage);
  CHECK(slow.report.straggler->rank == 2);
  CHECK(slow.simulation.closed_form.step.value ==
        doctest::Approx(slow.report.step.value).epsilon(0.02));
}

TEST_CASE("ranks with different factors are simulated apart, those with equal ones once") {
  sim::Scenario s = sample("gpt3-1.3b", {4, 1, 2}, 16, 2);
  CHECK(run_and_answer(s).report.simulated_ranks == 1);
  CHECK(run_and_answer(with_slow(s, 6, 1.1)).report.simulated_ranks == 8);
  s.slowdown = {1, 1, 1, 1, 1.3, 1.3, 1.3, 1.3};  // one replica of two
  const AnsweredRun folded = run_and_answer(s);
  CHECK(folded.report.simulated_ranks == 2);
  s.fold = sim::Fold::none;
  const AnsweredRun apart = run_and_answer(s);
  CHECK(apart.report.simulated_ranks == 8);
  CHECK(apart.report.step.value == doctest::Approx(folded.report.step.value).epsilon(1e-9));
  CHECK(apart.report.straggler->others_idle.value ==
        doctest::Approx(folded.report.straggler->others_idle.value).epsilon(1e-9));
}

TEST_CASE("all ranks slower by one factor take that factor longer to compute") {
  sim::Scenario s = sample("gpt3-1.3b", {1, 1, 1}, 4, 1);
  const AnsweredRun even = run_and_answer(s);
  const AnsweredRun slow = run_and_answer(with_slow(s, 0, 2.0));
  CHECK(slow.report.step.value == doctest::Approx(2 * even.report.step.value).epsilon(1e-9));
  CHECK(slow.simulation.closed_form.step.value ==
        doctest::Approx(slow.report.step.value).epsilon(1e-9));
}
