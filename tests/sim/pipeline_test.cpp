#include <doctest/doctest.h>

#include "sim/report/rank_times.hpp"
#include "tests/sim/run_pipeline.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

TEST_CASE("GPipe and 1F1B take (m+p-1)(F+B)") {
  // p = 8, m = 32, F = B = 1: 39 x 2 = 78.
  CHECK(makespan(pipeline(8, "gpipe"), {1, 1}, 32) == doctest::Approx(78).epsilon(1e-12));
  CHECK(makespan(pipeline(8, "1f1b"), {1, 1}, 32) == doctest::Approx(78).epsilon(1e-12));
}

TEST_CASE("fewer micro-batches than stages neither hang nor break the formula") {
  // p = 4, m = 1, F = 1, B = 2: 4 x 3 = 12.  p = 8, m = 4, F = B = 1: 11 x 2 = 22.
  for (const char* schedule : {"gpipe", "1f1b"}) {
    CHECK(makespan(pipeline(4, schedule), {1, 2}, 1) == doctest::Approx(12));
    CHECK(makespan(pipeline(8, schedule), {1, 1}, 4) == doctest::Approx(22));
  }
}

TEST_CASE("the naive schedule never overlaps stages") {
  // p = 4, m = 8, F = 1, B = 2: 8 x 4 x 3.
  CHECK(makespan(pipeline(4, "naive"), {1, 2}, 8) == doctest::Approx(96));
}

TEST_CASE("interleaving divides the ramp by the chunks") {
  // m (F+B) + (p-1)(F+B)/v with F = 1, B = 2.
  CHECK(makespan(pipeline(4, "1f1b"), {1, 2}, 8) == doctest::Approx(33));
  CHECK(makespan(pipeline(4, "interleaved", 2), {1, 2}, 8) == doctest::Approx(28.5));
  CHECK(makespan(pipeline(8, "interleaved", 3), {1, 2}, 16) == doctest::Approx(55.0));
  CHECK(makespan(pipeline(4, "interleaved", 4), {1, 2}, 16) == doctest::Approx(50.25));
  CHECK(makespan(pipeline(4, "interleaved", 2), {1, 2}, 4) == doctest::Approx(16.5));
}

TEST_CASE("the event tier agrees with the closed form to 1e-9 without contention") {
  for (const char* schedule : {"naive", "gpipe", "1f1b"}) {
    for (const int micro_batches : {1, 3, 8, 17}) {
      const Strategy s = pipeline(5, schedule);
      const auto topology = star(5, BytesPerSecond{1e9});
      const Result r = run(s, equal_stages(s, {0.7, 1.9}), micro_batches, topology);
      CAPTURE(schedule);
      CAPTURE(micro_batches);
      CHECK(r.timeline.makespan.value == doctest::Approx(r.closed.step.value).epsilon(1e-9));
    }
  }
}

TEST_CASE("messages lengthen GPipe by each hop once in both directions") {
  // p = 3, m = 4, F = 1, B = 2, 0.5 s a hop (100 bytes at 200 bytes/s): 6 x 3 + 2 x 2 x 0.5 = 20.
  const Strategy s = pipeline(3, "gpipe");
  const auto topology = star(3, BytesPerSecond{200});
  const Result r = run(s, equal_stages(s, {1, 2}, Bytes{100}), 4, topology);
  CHECK(r.timeline.makespan.value == doctest::Approx(20).epsilon(1e-12));
  CHECK(r.closed.step.value == doctest::Approx(20).epsilon(1e-12));
}

TEST_CASE("an all-reduce that nothing hides adds 2(n-1)/n S/B to the step") {
  // d = 4, one stage, 1000 fp16 gradients at 100 bytes/s: 1.5 x 2000 / 100 = 30 after 2 x 3 = 6.
  Strategy s;
  s.data = 4;
  auto stages = equal_stages(s, {1, 2});
  stages[0].elements = 1000;
  stages[0].chunks[0].last_backward = one_step(Phase::backward, 2, 1000);
  const auto topology = star(4, BytesPerSecond{100});
  const Result r = run(s, stages, 2, topology);
  CHECK(r.timeline.makespan.value == doctest::Approx(36).epsilon(1e-9));
  CHECK(r.closed.step.value == doctest::Approx(36).epsilon(1e-9));
  const Result folded = run(s, stages, 2, topology, {.data = true});
  CHECK(folded.graph.ranks.size() == 1);
  CHECK(folded.timeline.makespan.value == doctest::Approx(36).epsilon(1e-12));
}

TEST_CASE("every rank is busy, in exposed communication or idle, and nothing else") {
  const Strategy s = pipeline(4, "1f1b");
  const auto topology = star(4, BytesPerSecond{200});
  const Result r = run(s, equal_stages(s, {1, 2}, Bytes{100}), 8, topology);
  for (const sim::RankTimes& t : sim::rank_times(r.graph, r.timeline)) {
    CHECK((t.busy + t.exposed + t.idle).value ==
          doctest::Approx(r.timeline.makespan.value).epsilon(1e-12));
    CHECK(t.busy.value == doctest::Approx(24));  // 8 micro-batches of F + B
    CHECK(t.idle.value >= 0);
    CHECK(t.communication.value >= t.exposed.value - 1e-12);
  }
}

TEST_CASE("a device's idle share without communication is (p-1)/(m+p-1)") {
  const Strategy s = pipeline(8, "1f1b");
  const auto topology = star(8, BytesPerSecond{1e9});
  const Result r = run(s, equal_stages(s, {1, 1}), 32, topology);
  for (const sim::RankTimes& t : sim::rank_times(r.graph, r.timeline)) {
    CHECK(t.idle.value / r.timeline.makespan.value == doctest::Approx(14.0 / 78));
  }
}

TEST_CASE("activation peaks follow the order in which phases run") {
  // One byte a micro-batch and stage: 1F1B holds p - s, GPipe m, the naive schedule one.
  const auto topology = star(4, BytesPerSecond{1e9});
  const auto peaks = [&](const char* schedule) {
    const Strategy s = pipeline(4, schedule);
    const Result r = run(s, equal_stages(s, {1, 2}), 6, topology);
    std::vector<std::int64_t> held;
    for (const auto& peak : sim::memory_peaks(r.graph, r.timeline)) {
      held.push_back(peak.at_peak[static_cast<std::size_t>(MemoryClass::activations)].value);
    }
    return held;
  };
  CHECK(peaks("1f1b") == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(peaks("gpipe") == std::vector<std::int64_t>{6, 6, 6, 6});
  CHECK(peaks("naive") == std::vector<std::int64_t>{1, 1, 1, 1});
}
