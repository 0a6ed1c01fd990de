// Samples cut into slices of tokens that follow each other through a pipeline.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "sim/report/report.hpp"
#include "tests/sim/run_pipeline.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// Few long samples in a pipeline of eight.
sim::Scenario long_samples(const char* schedule) {
  sim::Scenario s = sample("gpt3-1.3b", {1, 8, 1}, 2, 1);
  s.model.max_positions = 8192;
  s.workload.sequence = 8192;
  s.strategy.schedule = schedule;
  s.strategy.flash_attention = true;
  return s;
}

sim::Scenario sliced(std::vector<std::int64_t> tokens) {
  sim::Scenario s = long_samples("terapipe");
  s.strategy.slice_tokens = std::move(tokens);
  return s;
}

}  // namespace

TEST_CASE("a pass of unequal slices takes their sum and (p-1) times the longest, both ways") {
  // arXiv:2102.07988, eq. 4: forwards 3 + 2 + 1, backwards twice that, two samples, p = 4 stages:
  // 12 + 3 x 3 and 24 + 3 x 6.
  Strategy s = pipeline(4, "terapipe");
  std::vector<std::vector<StagePlan>> slices;
  for (const double forward : {3.0, 2.0, 1.0}) {
    slices.push_back(equal_stages(s, {forward, 2 * forward}));
  }
  const auto topology = star(4, BytesPerSecond{1e9});
  cost::Router router(topology);
  const BuildInput input{.strategy = s,
                         .stages = slices.front(),
                         .topology = topology,
                         .router = router,
                         .micro_batches = 6,
                         .slices = slices};
  const TaskGraph graph = build_tasks(input);
  sim::IdealNetwork network(graph, topology.channels);
  CHECK(sim::replay(graph, network).makespan.value == doctest::Approx(12 + 9 + 24 + 18));
}

TEST_CASE("cutting samples changes no FLOP that is executed") {
  // Of s queries s (s + 1)/2 pairs are looked at, whichever way they are cut.
  const sim::Report whole = answer(long_samples("gpipe"));
  for (const auto& tokens :
       {std::vector<std::int64_t>(4, 2048), std::vector<std::int64_t>{4096, 2048, 1024, 1024}}) {
    CHECK(answer(sliced(tokens)).hardware_flops.value ==
          doctest::Approx(whole.hardware_flops.value).epsilon(1e-9));
  }
}

TEST_CASE("a sample in one slice is a sample") {
  const sim::Report whole = answer(long_samples("gpipe"));
  const sim::Report one = answer(sliced({8192}));
  CHECK(one.step.value == doctest::Approx(whole.step.value).epsilon(1e-9));
  CHECK(one.needed == whole.needed);
}

TEST_CASE("slices shrink the bubble, those of the dynamic programme most") {
  const double whole = answer(long_samples("gpipe")).step.value;
  const double even = answer(sliced(std::vector<std::int64_t>(8, 1024))).step.value;
  sim::Scenario s = long_samples("terapipe");
  const sim::Report found = answer(s);
  CHECK(even < whole);
  // The programme prices a stage of average layers and the head; messages are not in it.
  CHECK(found.step.value <= even * 1.01);
  const auto& tokens = found.slice_tokens;
  CHECK(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}) == 8192);
  CHECK(tokens.size() > 1);
  CHECK(tokens.front() >= tokens.back());
}

TEST_CASE("slices keep what their sample keeps") {
  // Activations but for what is kept per phase: eight slices of 1024 tokens are a sample of 8192.
  const auto activations = static_cast<std::size_t>(MemoryClass::activations);
  const Bytes whole = answer(long_samples("gpipe")).stages[3].peak[activations];
  const Bytes cut = answer(sliced(std::vector<std::int64_t>(8, 1024))).stages[3].peak[activations];
  CHECK(to_double(cut) == doctest::Approx(to_double(whole)).epsilon(1e-3));
}
