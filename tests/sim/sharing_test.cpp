// The engine against a second, independent simulator, on random graphs with much contention.
#include <doctest/doctest.h>

#include <random>

#include "check_timeline.hpp"
#include "fluid.hpp"
#include "graphs.hpp"
#include "sim/simulate.hpp"
#include "sim/steps/step_network.hpp"

using namespace tsim;
using strategies::TaskId;
using test::Graph;

namespace {

struct Mix {
  int tasks = 60;
  int channels = 4;
  double shortest = 1e-3;  // of computations and of lone transfers, as a share of the longest
};

/// Messages over one to three of a few channels and computations, each after up to two earlier
/// tasks.
Graph random_graph(unsigned seed, const Mix& mix) {
  std::mt19937 random(seed);
  const auto draw = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  Graph g;
  for (int c = 0; c < mix.channels; ++c) { g.channel(draw(1e9, 1e11)); }
  for (int t = 0; t < mix.tasks; ++t) {
    std::vector<TaskId> after;
    for (int i = pick(3); i > 0 && t > 0; --i) {
      after.push_back(static_cast<TaskId>(std::max(0, t - 1 - pick(12))));
    }
    if (pick(3) == 0) {
      g.compute(static_cast<std::uint32_t>(t), draw(mix.shortest, 1), after);
      continue;
    }
    std::vector<cost::ChannelId> path;
    for (int c = 0; c < mix.channels; ++c) {
      if (static_cast<int>(path.size()) < 3 && pick(2) == 0) { path.push_back(c); }
    }
    path = path.empty() ? std::vector<cost::ChannelId>{0} : path;
    g.comm(pick(2) * draw(1e-6, 1e-2), {{path, draw(mix.shortest, 1) * 1e10}}, after);
  }
  return g;
}

}  // namespace

TEST_CASE("times of random graphs agree with a second simulator to 1e-9") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Graph g = random_graph(seed, {.tasks = 60, .channels = 2 + static_cast<int>(seed % 5)});
    const auto graph = g.finish();
    const auto timeline = sim::simulate(graph, g.channels);
    const auto expected = test::Fluid(graph, g.channels).run();
    for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
      REQUIRE(std::abs(timeline.end[t] - expected[t]) <= 1e-9 * expected[t]);
    }
    REQUIRE(test::fault_in(graph, timeline, g.channels) == "");
  }
}

TEST_CASE("the network of steps agrees with SimGrid and the second simulator to 1e-9") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Graph g = random_graph(seed, {.tasks = 60, .channels = 2 + static_cast<int>(seed % 5)});
    const auto graph = g.finish();
    std::vector<sim::StepComm> comms;
    for (const auto& comm : graph.comms) { comms.push_back(sim::aggregated_comm(comm)); }
    sim::StepNetwork network(comms, g.channels);
    const auto timeline = sim::replay(graph, network);
    const auto shared = sim::simulate(graph, g.channels);
    const auto expected = test::Fluid(graph, g.channels).run();
    for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
      REQUIRE(std::abs(timeline.end[t] - expected[t]) <= 1e-9 * expected[t]);
      REQUIRE(std::abs(timeline.end[t] - shared.end[t]) <= 1e-9 * expected[t]);
    }
  }
}

TEST_CASE("transfers a billion times shorter than the longest neither hang nor lose their way") {
  for (unsigned seed = 100; seed < 110; ++seed) {
    CAPTURE(seed);
    Graph g = random_graph(seed, {.tasks = 80, .channels = 3, .shortest = 1e-9});
    const auto graph = g.finish();
    const auto timeline = sim::simulate(graph, g.channels);
    const auto expected = test::Fluid(graph, g.channels).run();
    const double makespan = timeline.makespan.value;
    for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
      REQUIRE(std::abs(timeline.end[t] - expected[t]) <= 1e-11 * makespan);
    }
  }
}
