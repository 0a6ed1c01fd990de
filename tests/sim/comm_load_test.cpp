#include "sim/comm_load.hpp"

#include <doctest/doctest.h>

#include "graphs.hpp"

using namespace tsim;
using strategies::Flow;
using strategies::TaskId;
using test::Graph;

namespace {

/// Two all-reduces of one group, one after the other on its stream, over the same two wires.
struct TwoOfOneGroup {
  Graph g;
  TaskId first = 0, second = 0;
  explicit TwoOfOneGroup(bool in_order) {
    const auto a = g.channel(100), b = g.channel(50);
    first = g.comm(1, {{{a}, 100}, {{b}, 100}});
    second = g.comm(1, {{{a}, 300}, {{b}, 100}});
    g.builder.graph.tasks[second].place = g.builder.graph.tasks[first].place;
    // In between, the stream runs something else.
    const TaskId between = g.compute(0, 1, {first});
    if (in_order) {
      const TaskId again = g.add(g.builder.graph.tasks[second], {between});
      g.builder.edge(first, second);
      g.builder.edge(second, again);
    }
  }
};

}  // namespace

TEST_CASE("a transfer alone takes as long as its busiest channel") {
  Graph g;
  const auto a = g.channel(100), b = g.channel(50);
  g.comm(9, {{{a, b}, 100}, {{a}, 200}, {{b}, 20}});
  // a carries 300 B at 100 B/s, b carries 120 B at 50 B/s
  CHECK(sim::transfer_alone(g.builder.graph.comms[0], g.channels) == 3);
}

TEST_CASE("communications that follow each other in one group never meet") {
  TwoOfOneGroup two(true);
  const auto loads = sim::comm_loads(two.g.finish(), two.g.channels);
  CHECK(loads.paths.empty());
  CHECK(loads.comms[0].flows.empty());
  CHECK(loads.comms[1].flows.empty());
  CHECK(loads.comms[0].latency == 1);
  CHECK(loads.comms[0].alone == 2);
  CHECK(loads.comms[0].alone_private == 2);
  CHECK(loads.comms[1].alone == 3);
}

TEST_CASE("communications of one group that no edge orders may meet") {
  TwoOfOneGroup two(false);
  const auto loads = sim::comm_loads(two.g.finish(), two.g.channels);
  CHECK(loads.comms[0].flows.size() == 2);
  CHECK(loads.comms[0].meeting == std::vector<sim::MeetingChannel>{{0, 0}, {1, 1}});
  REQUIRE(loads.comms[0].parts.size() == 2);  // each on a wire of its own
  CHECK(loads.comms[0].parts[1].first == 1);
  CHECK(loads.comms[0].parts[1].end == 2);
  CHECK(loads.comms[0].alone_private == 0);
}

TEST_CASE("only flows that others can meet, and those tied to them, are shared") {
  // nic is used by two groups. The flow over nic and bus drags the other flow on bus along; the
  // third flow is alone on its wire whatever happens.
  Graph g;
  const auto nic = g.channel(100), bus = g.channel(100), own = g.channel(25);
  g.comm(0, {{{own}, 100}, {{bus}, 10}, {{bus, nic}, 20}});
  g.comm(0, {{{nic}, 10}});
  const auto loads = sim::comm_loads(g.finish(), g.channels);
  const auto& collective = loads.comms[0];
  CHECK(collective.alone == 4);
  CHECK(collective.alone_private == 4);
  REQUIRE(collective.flows.size() == 2);
  CHECK(loads.paths[collective.flows[0].path] == std::vector<cost::ChannelId>{bus});
  CHECK(loads.paths[collective.flows[1].path] == std::vector<cost::ChannelId>{bus, nic});
  CHECK(collective.flows[1].bytes == 20);
  CHECK(collective.meeting == std::vector<sim::MeetingChannel>{{nic, 0}});
  REQUIRE(collective.parts.size() == 1);
  CHECK(collective.parts[0].alone == doctest::Approx(0.3));  // 30 bytes on the bus
}

TEST_CASE("equal channel lists are one path") {
  Graph g;
  const auto nic = g.channel(100);
  for (int i = 0; i < 3; ++i) { g.comm(0, {{{nic}, 10}}); }
  const auto loads = sim::comm_loads(g.finish(), g.channels);
  CHECK(loads.paths.size() == 1);
}

TEST_CASE("flows without bytes or without channels meet nobody") {
  Graph g;
  const auto nic = g.channel(100);
  g.comm(1, {{{nic}, 0}, {{}, 50}});
  g.comm(0, {{{nic}, 10}});
  const auto loads = sim::comm_loads(g.finish(), g.channels);
  CHECK(loads.paths.empty());
  CHECK(loads.comms[0].alone == 0);
}
