#include "sim/simgrid_network.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "graphs.hpp"
#include "sim/replay.hpp"

using namespace tsim;
using strategies::TaskId;
using test::Graph;

namespace {

sim::Timeline run(Graph& g) {
  const auto graph = g.finish();
  sim::SimGridNetwork network(graph, g.channels);
  return sim::replay(graph, network);
}

void check_close(double found, double expected) {
  CAPTURE(found);
  CAPTURE(expected);
  CHECK(std::abs(found - expected) <= 1e-9 * expected);
}

}  // namespace

TEST_CASE("a lone message takes its latency plus bytes over bandwidth") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId m = g.comm(0.5, {{{c}, 200}});
  check_close(run(g).end[m], 2.5);
}

TEST_CASE("the slowest channel of a path sets the pace of a lone message") {
  Graph g;
  const auto fast = g.channel(100), slow = g.channel(20);
  const TaskId m = g.comm(0, {{{fast, slow}, 200}});
  check_close(run(g).end[m], 10);
}

TEST_CASE("flows of one communication on one channel add up") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId m = g.comm(1, {{{c}, 200}, {{c}, 100}});
  check_close(run(g).end[m], 4);
}

TEST_CASE("two equal messages on one channel take twice the time of one") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId a = g.comm(0, {{{c}, 1000}});
  const TaskId b = g.comm(0, {{{c}, 1000}});
  const auto timeline = run(g);
  check_close(timeline.end[a], 20);
  check_close(timeline.end[b], 20);
}

TEST_CASE("messages on disjoint channels do not slow each other") {
  Graph g;
  const TaskId a = g.comm(0, {{{g.channel(100)}, 1000}});
  const TaskId b = g.comm(0, {{{g.channel(100)}, 1000}});
  const auto timeline = run(g);
  check_close(timeline.end[a], 10);
  check_close(timeline.end[b], 10);
}

TEST_CASE("a short message beside a long one leaves it the whole channel when it ends") {
  // 50 B/s each: 300 B end at 6 s; the other has 700 B left at 100 B/s: 6 + 7 s.
  Graph g;
  const auto c = g.channel(100);
  const TaskId small = g.comm(0, {{{c}, 300}});
  const TaskId large = g.comm(0, {{{c}, 1000}});
  const auto timeline = run(g);
  check_close(timeline.end[small], 6);
  check_close(timeline.end[large], 13);
}

TEST_CASE("a message that comes later slows the first one from then on") {
  // Alone until 4 s: 600 B left, then 50 B/s each: first ends at 4 + 12; the second has moved 600
  // of its 900 B and moves 300 more at 100 B/s: 19 s.
  Graph g;
  const auto c = g.channel(100);
  const TaskId first = g.comm(0, {{{c}, 1000}});
  const TaskId wait = g.compute(0, 4);
  const TaskId second = g.comm(0, {{{c}, 900}}, {wait});
  const auto timeline = run(g);
  check_close(timeline.end[first], 16);
  check_close(timeline.end[second], 19);
}

TEST_CASE("three flows over two channels share them max-min") {
  // c crosses both. l2 (50 B/s) is the tighter: b and c get 25 each, a the rest of l1: 75.
  // a ends at 13 1/3; c is still bound by l2: b and c end at 40.
  Graph g;
  const auto l1 = g.channel(100), l2 = g.channel(50);
  const TaskId a = g.comm(0, {{{l1}, 1000}});
  const TaskId b = g.comm(0, {{{l2}, 1000}});
  const TaskId c = g.comm(0, {{{l1, l2}, 1000}});
  const auto timeline = run(g);
  check_close(timeline.end[a], 40.0 / 3);
  check_close(timeline.end[b], 40);
  check_close(timeline.end[c], 40);
}

TEST_CASE("a message uses no bandwidth during its latency") {
  // The first is alone until 5 s, when half of it has moved; the second begins then.
  // 500 B left against 500 B: both end at 5 + 10 s.
  Graph g;
  const auto c = g.channel(100);
  const TaskId first = g.comm(0, {{{c}, 1000}});
  const TaskId second = g.comm(5, {{{c}, 500}});
  const auto timeline = run(g);
  check_close(timeline.end[first], 15);
  check_close(timeline.end[second], 15);
}

TEST_CASE("a message that ends as another begins does not slow it") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId first = g.comm(0, {{{c}, 500}});
  const TaskId wait = g.compute(0, 5);
  const TaskId second = g.comm(0, {{{c}, 1000}}, {wait});
  const auto timeline = run(g);
  check_close(timeline.end[first], 5);
  check_close(timeline.end[second], 15);
}

TEST_CASE("only the flows that meet others slow down, and the last one ends the communication") {
  // The private hop takes 8 s whatever happens. The shared one needs 2 s alone, meets an equal one
  // at once, takes 4 s, and is not what the communication waits for.
  Graph g;
  const auto own = g.channel(100), nic = g.channel(100);
  const TaskId collective = g.comm(0, {{{own}, 800}, {{nic}, 200}});
  const TaskId message = g.comm(0, {{{nic}, 200}});
  const auto timeline = run(g);
  check_close(timeline.end[collective], 8);
  // The collective moves in step: its 200 B ran at 25 B/s until the message came, at time 0.
  check_close(timeline.end[message], 4);
}

TEST_CASE("one communication that runs twice at a time shares with itself") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId a = g.comm(0, {{{c}, 1000}});
  const auto again = g.builder.graph.tasks[a];
  const TaskId b = g.add(again, {});
  const auto timeline = run(g);
  check_close(timeline.end[a], 20);
  check_close(timeline.end[b], 20);
}

TEST_CASE("what follows an ended flow starts at that instant") {
  Graph g;
  const auto c = g.channel(100);
  const TaskId a = g.comm(0, {{{c}, 1000}});
  const TaskId b = g.comm(0, {{{c}, 1000}});
  const TaskId next = g.compute(0, 3, {a, b});
  const auto timeline = run(g);
  CHECK(timeline.start[next] == std::max(timeline.end[a], timeline.end[b]));
  check_close(timeline.makespan.value, 23);
}

TEST_CASE("networks that follow each other in one process each start at zero") {
  for (int i = 0; i < 5; ++i) {
    Graph g;
    const auto c = g.channel(100);
    const TaskId a = g.comm(0, {{{c}, 1000}});
    const TaskId b = g.comm(0.25, {{{c}, 1000}});
    const auto timeline = run(g);
    // b begins at 0.25 s, when a has 975 B left; both run at 50 B/s until 19.75; b has 25 B left.
    check_close(timeline.end[a], 19.75);
    check_close(timeline.end[b], 20);
  }
}

TEST_CASE("byte counts from one byte to a terabyte keep nine digits under sharing") {
  for (const double bytes : {1.0, 1.5, 1e3, 1e6, 1e9, 1e12}) {
    Graph g;
    const auto c = g.channel(bytes / 3);
    const TaskId a = g.comm(0, {{{c}, bytes}});
    const TaskId b = g.comm(0, {{{c}, bytes / 2}});
    const auto timeline = run(g);
    check_close(timeline.end[b], 3);    // half the bytes at half the rate
    check_close(timeline.end[a], 4.5);  // 1.5 times the bytes over one channel
  }
}

TEST_CASE("a second network beside a living one is refused") {
  Graph g;
  g.compute(0, 1);
  const auto graph = g.finish();
  const sim::SimGridNetwork one(graph, g.channels);
  CHECK_THROWS_AS(sim::SimGridNetwork(graph, g.channels), std::logic_error);
}
