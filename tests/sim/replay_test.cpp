#include "sim/replay.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "check_timeline.hpp"
#include "graphs.hpp"
#include "pipeline.hpp"
#include "sim/ideal_network.hpp"
#include "sim/simgrid_network.hpp"
#include "sim/simulate.hpp"

using namespace tsim;
using strategies::TaskId;
using test::Graph;
using test::PipelineShape;

namespace {

sim::Timeline run_ideal(const strategies::TaskGraph& graph,
                        const std::vector<cost::Channel>& channels) {
  sim::IdealNetwork network(graph, channels);
  return sim::replay(graph, network);
}

struct Run {
  strategies::TaskGraph graph;
  std::vector<cost::Channel> channels;
  sim::Timeline timeline;
};

Run run_shared(const PipelineShape& shape) {
  Graph g = test::one_f_one_b(shape);
  Run run{g.finish(), g.channels, {}};
  run.timeline = sim::simulate(run.graph, run.channels);
  return run;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a chain of 300,000 tasks that take no time neither recurses nor takes time") {
  Graph g;
  g.builder.graph.ranks.resize(1);
  g.builder.graph.computes.push_back({"nothing", {0}, {}, {}});
  TaskId before = strategies::kNoTask;
  for (int i = 0; i < 300000; ++i) {
    const TaskId t = g.builder.add({});
    g.builder.edge(before, t);
    before = t;
  }
  const auto graph = g.finish();
  CHECK(run_ideal(graph, {}).makespan.value == 0);
  CHECK(sim::simulate(graph, {}).end.back() == 0);
}

TEST_CASE("a task starts when the last of its predecessors ends") {
  Graph g;
  const TaskId a = g.compute(0, 1), b = g.compute(1, 3);
  const TaskId c = g.compute(2, 2, {a, b});
  const auto timeline = run_ideal(g.finish(), {});
  CHECK(timeline.start[c] == 3);
  CHECK(timeline.end[c] == 5);
  CHECK(timeline.makespan.value == 5);
}

TEST_CASE("1F1B lasts (m + p - 1)(F + B) on free wires") {
  // p = 4, m = 8, F = 1, B = 2: 11 * 3 [arXiv:2104.04473, sec. 2.2]
  Graph g = test::one_f_one_b({});
  const auto graph = g.finish();
  CHECK(run_ideal(graph, g.channels).makespan.value == doctest::Approx(33).epsilon(1e-12));
  CHECK(sim::simulate(graph, g.channels).makespan.value == doctest::Approx(33).epsilon(1e-12));
}

TEST_CASE("the ideal and the shared network agree where nothing meets") {
  Graph g = test::one_f_one_b({.latency = 0.05, .bytes = 30, .jitter = 0.3});
  const auto graph = g.finish();
  const auto ideal = run_ideal(graph, g.channels);
  const auto shared = sim::simulate(graph, g.channels);
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    CHECK(std::abs(ideal.end[t] - shared.end[t]) <= 1e-12 * ideal.makespan.value);
  }
}

TEST_CASE("timelines pass the independent check, with and without sharing") {
  for (const bool one_wire : {false, true}) {
    const Run run = run_shared({.stages = 6,
                                .micro_batches = 12,
                                .latency = 0.02,
                                .bytes = 100,
                                .one_wire = one_wire,
                                .jitter = 0.5});
    CHECK(test::fault_in(run.graph, run.timeline, run.channels) == "");
    const auto ideal = run_ideal(run.graph, run.channels);
    CHECK(test::fault_in(run.graph, ideal, run.channels) == "");
    if (one_wire) { CHECK(run.timeline.makespan.value > 1.1 * ideal.makespan.value); }
  }
}

TEST_CASE("the independent check finds a late start, an overlap and a message that is too fast") {
  Graph g;
  const TaskId a = g.compute(0, 1), b = g.compute(0, 1, {a});
  const TaskId m = g.comm(0.5, {{{g.channel(100)}, 100}}, {b});
  const auto graph = g.finish();
  const auto right = run_ideal(graph, g.channels);
  REQUIRE(test::fault_in(graph, right, g.channels) == "");
  auto late = right;
  late.start[b] += 0.1;
  CHECK(test::fault_in(graph, late, g.channels) != "");
  auto overlap = right;
  overlap.end[a] = 1.5;
  CHECK(contains(test::fault_in(graph, overlap, g.channels), "computes twice"));
  auto fast = right;
  fast.end[m] = fast.makespan.value = 3;
  CHECK(contains(test::fault_in(graph, fast, g.channels), "faster than its wires"));
}

TEST_CASE("all rates times k and latencies over k divide every time by k") {
  for (const double k : {2.0, 3.0, 1e3, 1e-3}) {
    PipelineShape shape{.latency = 0.03, .bytes = 40, .one_wire = true, .jitter = 0.4};
    const Run slow = run_shared(shape);
    shape.scale_rates = k;
    const Run fast = run_shared(shape);
    for (std::size_t t = 0; t < slow.graph.tasks.size(); ++t) {
      CHECK(std::abs(k * fast.timeline.end[t] - slow.timeline.end[t]) <=
            1e-10 * slow.timeline.makespan.value);
    }
  }
}

TEST_CASE("renaming the ranks changes no time") {
  PipelineShape shape{.latency = 0.03, .bytes = 40, .one_wire = true, .jitter = 0.4};
  const Run one = run_shared(shape);
  shape.reverse_ranks = true;
  const Run other = run_shared(shape);
  CHECK(one.timeline.end == other.timeline.end);
}

TEST_CASE("the same graph simulated twice gives the same bytes") {
  const PipelineShape shape{.stages = 8,
                            .micro_batches = 16,
                            .latency = 0.03,
                            .bytes = 40,
                            .one_wire = true,
                            .jitter = 0.4};
  const Run one = run_shared(shape);
  const Run other = run_shared(shape);
  CHECK(one.timeline.start == other.timeline.start);
  CHECK(one.timeline.end == other.timeline.end);
}

TEST_CASE("bytes on a channel are those of every communication over it") {
  Graph g;
  const auto a = g.channel(100), b = g.channel(100), unused = g.channel(100);
  const TaskId m = g.comm(0, {{{a, b}, 10.5}, {{b}, 2}});
  g.add(g.builder.graph.tasks[m], {m});  // once more
  const auto graph = g.finish();
  const auto bytes = sim::simulate(graph, g.channels).channel_bytes;
  REQUIRE(bytes.size() == 3);
  CHECK(bytes[static_cast<std::size_t>(a)] == 21);
  CHECK(bytes[static_cast<std::size_t>(b)] == 25);
  CHECK(bytes[static_cast<std::size_t>(unused)] == 0);
}

TEST_CASE("a circle of tasks is reported with who waits for what on each rank") {
  // Rank 0's second task waits for a message that rank 1 sends after a task that waits for rank 0.
  Graph g;
  const auto wire = g.channel(100);
  const TaskId begin = g.compute(0, 1);
  const TaskId blocked = g.compute(0, 1, {begin});
  const TaskId to_one = g.comm(0, {{{wire}, 10}}, {blocked});
  const TaskId other = g.compute(1, 1, {to_one});
  const TaskId to_zero = g.comm(0, {{{wire}, 10}}, {other});
  g.builder.edge(to_zero, blocked);
  g.builder.graph.tasks[blocked].micro_batch = 3;
  g.builder.graph.computes[g.builder.graph.tasks[blocked].work].label = "layers 0-3";
  const auto graph = g.finish();
  for (const bool shared : {false, true}) {
    try {
      shared ? sim::simulate(graph, g.channels) : run_ideal(graph, g.channels);
      FAIL("not reported");
    } catch (const sim::Stuck& stuck) {
      REQUIRE(stuck.waits.size() == 2);
      CHECK(stuck.waits[0].rank == 0);
      CHECK(stuck.waits[0].task == blocked);
      CHECK(stuck.waits[0].waits_for == to_zero);
      CHECK(stuck.waits[1].rank == 1);
      CHECK(stuck.waits[1].task == other);
      CHECK(stuck.waits[1].waits_for == to_one);
      const std::string text = stuck.what();
      CHECK(contains(text, "4 of 5 tasks never start"));
      CHECK(contains(text,
                     "rank 0: forward of layers 0-3, micro-batch 3, stage 0, rank 0 waits for "
                     "message (transfer), stage 0, ranks 0 and 1"));
    }
  }
}

TEST_CASE("a long list of stuck ranks is cut and counted") {
  Graph g;
  const TaskId a = g.compute(0, 1), b = g.compute(1, 1, {a});
  g.builder.edge(b, a);
  for (std::uint32_t rank = 2; rank < 20; ++rank) { g.compute(rank, 1, {b}); }
  try {
    run_ideal(g.finish(), {});
    FAIL("not reported");
  } catch (const sim::Stuck& stuck) {
    CHECK(stuck.waits.size() == 20);
    CHECK(contains(stuck.what(), "and 12 more ranks"));
  }
}

TEST_CASE("what goes wrong in a run's process is told by the caller's exception") {
  Graph g;
  g.compute(0, 1);
  const auto graph = g.finish();
  const sim::SimGridNetwork living(graph, g.channels);  // its engine is inherited by the child
  CHECK_THROWS_WITH(sim::simulate(graph, g.channels),
                    "the simulation failed: two SimGrid networks at a time");
}

TEST_CASE("an empty graph is over at once") {
  const auto graph = Graph().finish();
  CHECK(sim::simulate(graph, {}).makespan.value == 0);
  CHECK(run_ideal(graph, {}).makespan.value == 0);
}
