// Workers that meet at parameter servers, in step or not.
#include "strategies/async_data.hpp"

#include <doctest/doctest.h>

#include "sim/ideal_network.hpp"
#include "sim/replay.hpp"
#include "sim/report/async_report.hpp"
#include "sim/report/report.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/fake_pipeline.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;
using sim::Histogram;

namespace {

struct Workers {
  DataMode mode = DataMode::asp;
  int staleness = 0;
  std::vector<double> slowdown{1.0, 2.5};
  int servers = 0;
  int iterations = 12;
  std::int64_t elements = 0;  // 2 bytes each
  Jitter jitter{};
  double step = 0;  // of a server, seconds
};

struct Result {
  sim::Timeline timeline;
  sim::AsyncReport report;
};

constexpr BytesPerSecond kWire{1e3};

/// F = B = 1 s; wires of 1000 bytes/s, shared or each message as if it were alone.
Result run(const Workers& w, bool shared = false) {
  Strategy s;
  s.data = static_cast<int>(w.slowdown.size());
  s.async = {true, w.mode, w.staleness, w.iterations, w.servers};
  auto stages = equal_stages(s, {});
  stages.front().elements = w.elements;
  const cost::Topology topology = star(s.data + w.servers, kWire);
  cost::Router router(topology);
  const BuildInput build{
      .strategy = s, .stages = stages, .topology = topology, .router = router, .micro_batches = 1};
  std::vector<double> slowdown = w.slowdown;
  slowdown.resize(topology.devices.size(), 1.0);
  const AsyncRun run =
      build_async({build, slowdown, w.jitter, {server_devices(s).size(), Seconds{w.step}}});
  Result result;
  if (shared) {
    result.timeline = sim::simulate(run.graph, topology.channels);
  } else {
    sim::IdealNetwork network(run.graph, topology.channels);
    result.timeline = sim::replay(run.graph, network);
  }
  result.report = async_report(run, result.timeline);
  return result;
}

}  // namespace

// Iterations of 2 s and 5 s. The fast worker's end at 2, 4, ..., 24, the slow one's at 5, 10, ...
TEST_CASE("workers that never wait each keep their own pace") {
  const Result r = run({});
  CHECK(r.report.worker_rates[0] == doctest::Approx(0.5));
  CHECK(r.report.worker_rates[1] == doctest::Approx(0.2));
  CHECK(r.report.iterations_per_second == doctest::Approx(0.7));
  CHECK(r.timeline.makespan.value == doctest::Approx(60));
}

TEST_CASE("staleness counts the others' updates between pull and own update") {
  // Fast: the updates at 5 and 15 fall inside (4, 6) and (14, 16); those at 10 and 20 meet its own.
  // Slow: 2 in each of (0, 5), (5, 10), (10, 15), (15, 20), (20, 25), none once the fast one ended.
  CHECK(run({}).report.staleness == Histogram{{0, 10 + 7}, {1, 2}, {2, 5}});
}

TEST_CASE("a worker that never waits runs ahead for ever") {
  // At clock k the fast one pulls at 2k, when the slow one has ended floor(2k/5) clocks.
  CHECK(run({}).report.ahead ==
        Histogram{{0, 12 + 1}, {1, 1}, {2, 2}, {3, 2}, {4, 1}, {5, 2}, {6, 2}, {7, 1}});
}

TEST_CASE(
    "with bounded staleness the slowest worker sets everybody's pace, once the lead is used") {
  for (const int staleness : {1, 3}) {
    CAPTURE(staleness);
    const Result r = run({.mode = DataMode::ssp, .staleness = staleness, .iterations = 40});
    CHECK(r.report.worker_rates[0] == doctest::Approx(0.2));
    CHECK(r.report.worker_rates[1] == doctest::Approx(0.2));
    CHECK(r.report.ahead.rbegin()->first == staleness);
    // The fast one computes clock N-1 when the slow one has ended clock N-1-s-1.
    CHECK(r.timeline.makespan.value == doctest::Approx(40 * 5));
  }
}

TEST_CASE("staleness 0 is in step, and as many as there are iterations is none at all") {
  const Result in_step = run({.mode = DataMode::bsp});
  CHECK(in_step.timeline.makespan.value == doctest::Approx(12 * 5));
  CHECK(in_step.report.iterations_per_second == doctest::Approx(0.4));
  CHECK(in_step.report.staleness == Histogram{{0, 24}});
  CHECK(in_step.report.ahead == Histogram{{0, 24}});
  CHECK(run({.mode = DataMode::ssp}).timeline.start == in_step.timeline.start);
  const Result bounded = run({.mode = DataMode::ssp, .staleness = 12});
  const Result unbounded = run({});
  CHECK(bounded.timeline.start == unbounded.timeline.start);
  CHECK(bounded.report.staleness == unbounded.report.staleness);
}

TEST_CASE("pulls and pushes share the servers' wires") {
  // 1000 bytes a worker through one server's wire of 1000 bytes/s each way, F + B = 2, a step 0.5:
  // alone 1 + 2 + 1 + 0.5 s a clock, together 2 + 2 + 2 + 0.5.
  const Workers equal{.mode = DataMode::bsp,
                      .slowdown = {1, 1},
                      .servers = 1,
                      .iterations = 4,
                      .elements = 500,
                      .step = 0.5};
  CHECK(run(equal, false).timeline.makespan.value == doctest::Approx(4 * 4.5));
  CHECK(run(equal, true).timeline.makespan.value == doctest::Approx(4 * 6.5));
}

// byteps issues 60 and 87: of M bytes, four workers send M each to servers of their own, 3/4 M to
// servers beside them, which send as much back.
TEST_CASE("a machine moves M beside separate servers and 1.5 M with a server of its own") {
  const auto sent = [](int servers) {
    const Workers w{.mode = DataMode::bsp,
                    .slowdown = {1, 1, 1, 1},
                    .servers = servers,
                    .iterations = 1,
                    .elements = 500};
    return run(w).timeline.channel_bytes.front();  // of the first device's wire, one way
  };
  CHECK(sent(4) == doctest::Approx(1000));
  CHECK(sent(0) == doctest::Approx(1500));
}

TEST_CASE("every clock of a worker lasts as its own draw of the jitter says") {
  const Jitter jitter{.variation = 0.3, .seed = 11};
  double expected = 0;
  for (int clock = 0; clock < 5; ++clock) { expected += 2 * jitter_factor(jitter, 0, clock); }
  const Workers w{.slowdown = {jitter_factor(jitter, 0, 0)}, .iterations = 5, .jitter = jitter};
  CHECK(run(w).timeline.makespan.value == doctest::Approx(expected));
}

TEST_CASE("a scenario with parameter servers tells throughput and staleness") {
  sim::Scenario s = sample("gpt3-1.3b", {1, 1, 8}, 16, 2);
  s.strategy.data = 6;
  s.workload.global_batch = 12;
  s.strategy.async = {true, DataMode::asp, 0, 6, 2};
  s.slowdown = {1, 1, 1, 1, 1, 3, 1, 1};
  const sim::Simulation simulation = run_scenario(s);
  const sim::Report r = summarise(s, simulation);
  REQUIRE(r.async.has_value());
  CHECK(r.samples_per_second == doctest::Approx(2 * r.async->iterations_per_second));
  CHECK(r.async->worker_rates[0] > 1.5 * r.async->worker_rates[5]);
  CHECK(r.straggler->rank == 5);
  CHECK_FALSE(r.closed_form.has_value());
  REQUIRE(r.stages.size() == 2);
  CHECK(r.stages[1].contents == "parameter servers");
  // A worker keeps no optimizer states; two servers share 12 bytes of each parameter.
  const auto optimizer = static_cast<std::size_t>(MemoryClass::optimizer);
  CHECK(r.stages[0].peak[optimizer].value == 0);
  CHECK(r.stages[1].peak[optimizer].value == (simulation.stages[0].elements + 1) / 2 * 12);
}
