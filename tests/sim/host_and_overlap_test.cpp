// The host that launches kernels, and kernels beside communication.
#include <doctest/doctest.h>

#include "graphs.hpp"
#include "sim/ideal_network.hpp"
#include "sim/replay.hpp"

using namespace tsim;
using strategies::TaskId;
using test::Graph;

namespace {

/// A computation that takes its host some time to launch.
TaskId launched(Graph& g, std::uint32_t rank, double on_device, double host,
                const std::vector<TaskId>& after = {}) {
  const TaskId id = g.compute(rank, on_device, after);
  g.builder.graph.computes.back().host = {host};
  return id;
}

sim::Timeline run(Graph& g) {
  const strategies::TaskGraph graph = g.finish();
  sim::IdealNetwork network(graph, g.channels);
  return sim::replay(graph, network);
}

}  // namespace

TEST_CASE("a host runs ahead of its device: what it saves pays for later launches") {
  Graph g;
  const TaskId first = launched(g, 0, 3, 1);
  const TaskId second = launched(g, 0, 1, 2, {first});
  const TaskId third = launched(g, 0, 1, 2, {second});
  const TaskId fourth = launched(g, 0, 1, 4, {third});
  const sim::Timeline t = run(g);
  CHECK(t.end[first] == 3);   // launched at 1
  CHECK(t.end[second] == 4);  // launched at 3, while the first ran
  CHECK(t.end[third] == 5);   // launched at 5, just in time
  CHECK(t.end[fourth] == 9);  // launched at 9, although the device was ready at 6
}

TEST_CASE("a host's launches start when it has issued the communication before them") {
  Graph g;
  const TaskId before = launched(g, 0, 1, 0);
  const TaskId message = g.comm(0.5, {}, {before});
  const TaskId after = launched(g, 0, 1, 0.25, {message});
  g.builder.graph.ranks[0].host_collective = {4};
  const sim::Timeline t = run(g);
  CHECK(t.end[message] == 1.5);
  CHECK(t.end[after] == 4.25);
}

TEST_CASE("a host that waits for a message launches nothing meanwhile") {
  for (const bool waits : {false, true}) {
    Graph g;
    const TaskId message = g.comm(5, {});
    const TaskId after = launched(g, 1, 1, 2, {message});
    g.builder.graph.ranks[1].host_awaits_messages = waits;
    CHECK(run(g).end[after] == (waits ? 7 : 6));
  }
}

TEST_CASE("a host that waits for its device pays for all launches of what follows") {
  // Ahead: the second is launched at 3, before the device is free. Waiting: from 5 on.
  for (const bool waits : {false, true}) {
    Graph g;
    const TaskId first = launched(g, 0, 5, 1);
    const TaskId second = launched(g, 0, 1, 2, {first});
    g.builder.graph.computes.back().host_waits = waits;
    CHECK(run(g).end[second] == (waits ? 7 : 6));
  }
}

TEST_CASE("a kernel is slower beside communication, for as long as there is any") {
  // At 1.25 times the time, 5 s beside a message do the work of 4.
  Graph g;
  const TaskId slowed = g.compute(0, 10);
  const TaskId free = g.compute(2, 10);
  g.comm(5, {});
  g.builder.graph.ranks[0].overlap_slowdown = 0.25;
  g.builder.graph.ranks[2].overlap_slowdown = 0.25;
  const sim::Timeline t = run(g);
  CHECK(t.end[slowed] == doctest::Approx(11).epsilon(1e-12));
  CHECK(t.end[free] == 10);
}

TEST_CASE("communications at once slow a kernel once") {
  // Messages from 0 to 5, 2 to 3 and 5 to 8: 8 s do the work of 6.4, and 3.6 s are left.
  Graph g;
  const TaskId slowed = g.compute(0, 10);
  const TaskId other = g.compute(2, 2);
  const TaskId first = g.comm(5, {});
  g.comm(1, {}, {other});
  g.comm(3, {}, {first});
  g.builder.graph.ranks[0].overlap_slowdown = 0.25;
  CHECK(run(g).end[slowed] == doctest::Approx(11.6).epsilon(1e-12));
}

TEST_CASE("a message longer than a kernel slows all of it") {
  Graph g;
  const TaskId slowed = g.compute(0, 10);
  g.comm(100, {});
  g.builder.graph.ranks[0].overlap_slowdown = 0.25;
  CHECK(run(g).end[slowed] == doctest::Approx(12.5).epsilon(1e-9));
}
