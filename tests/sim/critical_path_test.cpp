#include "sim/critical_path.hpp"

#include <doctest/doctest.h>

#include "graphs.hpp"
#include "pipeline.hpp"
#include "sim/ideal_network.hpp"
#include "sim/replay.hpp"
#include "sim/simulate.hpp"

using namespace tsim;
using strategies::TaskId;
using strategies::TaskKind;
using test::Graph;

TEST_CASE("the critical path goes back through the predecessor that ended last") {
  Graph g;
  const TaskId quick = g.compute(0, 1), slow = g.compute(1, 3);
  const TaskId message = g.comm(0.5, {{{g.channel(100)}, 100}}, {slow});
  const TaskId last = g.compute(0, 2, {quick, message});
  const auto graph = g.finish();
  sim::IdealNetwork network(graph, g.channels);
  const auto path = sim::critical_path(graph, sim::replay(graph, network));
  CHECK(path.tasks == std::vector<TaskId>{slow, message, last});
  REQUIRE(path.shares.size() == 2);
  CHECK(path.shares[0].kind == TaskKind::compute);
  CHECK(path.shares[0].time.value == doctest::Approx(5));
  CHECK(path.shares[1].kind == TaskKind::comm);
  CHECK(path.shares[1].stream == strategies::Stream::pp);
  CHECK(path.shares[1].phase == strategies::Phase::transfer);
  CHECK(path.shares[1].time.value == doctest::Approx(1.5));
  CHECK(path.gaps.value == 0);
}

TEST_CASE("of paths of equal length the one through the lowest ids is taken") {
  Graph g;
  const TaskId a = g.compute(0, 1), b = g.compute(1, 1);
  const TaskId c = g.compute(0, 1, {b, a});
  g.compute(1, 1, {a, b});
  const auto graph = g.finish();
  sim::IdealNetwork network(graph, g.channels);
  CHECK(sim::critical_path(graph, sim::replay(graph, network)).tasks == std::vector<TaskId>{a, c});
}

TEST_CASE("the critical path has no gaps and its shares sum to the makespan, under sharing too") {
  Graph g = test::one_f_one_b(
      {.stages = 6, .latency = 0.02, .bytes = 40, .one_wire = true, .jitter = 0.5});
  const auto graph = g.finish();
  const auto timeline = sim::simulate(graph, g.channels);
  const auto path = sim::critical_path(graph, timeline);
  CHECK(path.gaps.value == 0);
  double sum = 0;
  for (const auto& share : path.shares) { sum += share.time.value; }
  CHECK(sum == doctest::Approx(timeline.makespan.value).epsilon(1e-12));
  CHECK(graph.in_degree[path.tasks.front()] == 0);
}

TEST_CASE("waiting that no predecessor explains is a gap") {
  Graph g;
  const TaskId a = g.compute(0, 1);
  g.compute(0, 1, {a});
  const auto graph = g.finish();
  const sim::Timeline late{
      .start = {0.25, 2}, .end = {1.25, 3}, .makespan = {3}, .channel_bytes = {}};
  CHECK(sim::critical_path(graph, late).gaps.value == doctest::Approx(1.0));
}

TEST_CASE("an empty graph has an empty critical path") {
  const auto graph = Graph().finish();
  CHECK(sim::critical_path(graph, {}).tasks.empty());
}
