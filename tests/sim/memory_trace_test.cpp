#include "sim/memory_trace.hpp"

#include <doctest/doctest.h>

#include "graphs.hpp"
#include "pipeline.hpp"
#include "sim/ideal_network.hpp"
#include "sim/replay.hpp"

using namespace tsim;
using strategies::MemoryClass;
using strategies::TaskId;
using test::Graph;

namespace {

sim::Timeline run(const strategies::TaskGraph& graph, const std::vector<cost::Channel>& channels) {
  sim::IdealNetwork network(graph, channels);
  return sim::replay(graph, network);
}

Bytes in(const sim::MemoryByClass& memory, MemoryClass c) {
  return memory[static_cast<std::size_t>(c)];
}

}  // namespace

TEST_CASE("memory follows what tasks allocate at their start and free at their end") {
  // Resident 100. 0-1 s: +40; 1-3 s: +20 of which 15 go at its end; 3-4 s: frees the 40 at its end.
  Graph g;
  const TaskId a = g.compute(0, 1, {}, {{MemoryClass::activations, {40}, {0}}});
  const TaskId b = g.compute(0, 2, {a}, {{MemoryClass::buffers, {20}, {-15}}});
  g.compute(0, 1, {b}, {{MemoryClass::activations, {0}, {-40}}});
  g.builder.graph.ranks[0].resident = {{MemoryClass::parameters, {100}, {0}}};
  const auto graph = g.finish();
  const auto timeline = run(graph, {});

  const auto points = sim::memory_trace(graph, timeline, 0);
  REQUIRE(points.size() == 4);
  const double times[] = {0, 1, 3, 4};
  const std::int64_t totals[] = {140, 160, 145, 105};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(points[i].time == times[i]);
    CHECK(sim::total(points[i].held).value == totals[i]);
  }
  const auto peak = sim::memory_peaks(graph, timeline)[0];
  CHECK(peak.peak == Bytes{160});
  CHECK(peak.time == 1);
  CHECK(in(peak.at_peak, MemoryClass::parameters) == Bytes{100});
  CHECK(in(peak.at_peak, MemoryClass::activations) == Bytes{40});
  CHECK(in(peak.at_peak, MemoryClass::buffers) == Bytes{20});
  CHECK(in(peak.at_end, MemoryClass::activations) == Bytes{0});
  CHECK(in(peak.at_end, MemoryClass::buffers) == Bytes{5});
}

TEST_CASE("what ends at an instant makes room for what starts then") {
  Graph g;
  const TaskId a = g.compute(0, 1, {}, {{MemoryClass::activations, {70}, {-70}}});
  g.compute(0, 1, {a}, {{MemoryClass::activations, {80}, {-80}}});
  const auto graph = g.finish();
  CHECK(sim::memory_peaks(graph, run(graph, {}))[0].peak == Bytes{80});
}

TEST_CASE("the peak's time is the first instant at which it is held") {
  Graph g;
  const TaskId a = g.compute(0, 1, {}, {{MemoryClass::activations, {70}, {-70}}});
  const TaskId idle = g.compute(0, 1, {a});
  g.compute(0, 1, {idle}, {{MemoryClass::buffers, {70}, {-70}}});
  const auto graph = g.finish();
  const auto peak = sim::memory_peaks(graph, run(graph, {}))[0];
  CHECK(peak.time == 0);
  CHECK(in(peak.at_peak, MemoryClass::activations) == Bytes{70});
}

TEST_CASE("memory that exists before the first change is a point at time 0") {
  Graph g;
  const TaskId a = g.compute(0, 1);
  g.compute(0, 1, {a}, {{MemoryClass::activations, {5}, {-5}}});
  g.builder.graph.ranks[0].resident = {{MemoryClass::optimizer, {7}, {0}}};
  const auto graph = g.finish();
  const auto points = sim::memory_trace(graph, run(graph, {}), 0);
  REQUIRE(points.size() == 3);
  CHECK(points[0].time == 0);
  CHECK(sim::total(points[0].held) == Bytes{7});
}

TEST_CASE("a rank without tasks holds what is resident") {
  Graph g;
  g.compute(0, 1);
  g.rank(1);
  g.builder.graph.ranks[1].resident = {{MemoryClass::parameters, {9}, {0}}};
  const auto graph = g.finish();
  const auto peaks = sim::memory_peaks(graph, run(graph, {}));
  REQUIRE(peaks.size() == 2);
  CHECK(peaks[0].peak == Bytes{0});
  CHECK(peaks[1].peak == Bytes{9});
}

TEST_CASE("a communication's buffer is held by all its members while it runs") {
  Graph g;
  const TaskId m = g.comm(1, {});
  g.builder.graph.effects.push_back({{MemoryClass::buffers, {3}, {-3}}});
  g.builder.graph.tasks[m].effect = 0;
  const auto graph = g.finish();
  const auto timeline = run(graph, {});
  for (const auto& peak : sim::memory_peaks(graph, timeline)) {
    CHECK(peak.peak == Bytes{3});
    CHECK(sim::total(peak.at_end) == Bytes{0});
  }
  CHECK(sim::memory_trace(graph, timeline, 1).size() == 2);
}

TEST_CASE("stage s (from 0) of 1F1B holds p - s micro-batches at its peak") {
  Graph g = test::one_f_one_b({.stages = 4, .micro_batches = 8});
  g.builder.graph.effects = {{{MemoryClass::activations, {1}, {0}}},
                             {{MemoryClass::activations, {0}, {-1}}}};
  for (auto& task : g.builder.graph.tasks) {
    if (task.kind == strategies::TaskKind::compute) {
      const bool forward = g.builder.graph.computes[task.work].duration.value == 1;
      task.effect = forward ? 0 : 1;
    }
  }
  const auto graph = g.finish();
  const auto peaks = sim::memory_peaks(graph, run(graph, g.channels));
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK(peaks[s].peak == Bytes{static_cast<std::int64_t>(4 - s)});
    CHECK(sim::total(peaks[s].at_end) == Bytes{0});
  }
}
