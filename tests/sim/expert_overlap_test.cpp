// Exchanges with experts beside computation: what it may change, and what not.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/report/expert_rows.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::Stream;
using strategies::TaskKind;

namespace {

/// Four layers of eight experts of 1,024 columns, two for each token; 512 tokens a sample.
sim::Scenario eight_experts(Degrees degrees, int expert, std::int64_t batch) {
  models::ModelConfig m;
  m.name = "eight experts";
  m.layers = 4;
  m.hidden = 512;
  m.heads = m.kv_heads = 8;
  m.head_dim = 64;
  m.ffn = 1024;
  m.vocab = 4096;
  m.sequence = m.max_positions = 512;
  m.causal = true;
  m.moe = {.experts = 8, .top_k = 2, .ffn = 1024};
  sim::Scenario scenario = sample("gpt2", degrees, batch, 1);
  scenario.model = m;
  scenario.unpadded_vocab = 4096;
  scenario.strategy.experts.ranks = expert;
  scenario.strategy.experts.experts = 8;
  scenario.strategy.experts.chosen = 2;
  scenario.strategy.gradient_clipping = false;
  return scenario;
}

struct Sums {
  std::int64_t exchanges = 0;
  std::int64_t bytes = 0;  // payload of all exchanges
  double flops = 0, hardware_flops = 0;
};

Sums sums_of(const sim::Simulation& s) {
  Sums sums;
  for (const strategies::Task& task : s.graph.tasks) {
    if (task.kind == TaskKind::compute) {
      sums.flops += s.graph.computes[task.work].model_flops.value;
      sums.hardware_flops += s.graph.computes[task.work].hardware_flops.value;
    } else if (task.stream == Stream::ep) {
      ++sums.exchanges;
      sums.bytes += s.graph.comms[task.work].payload.value;
    }
  }
  return sums;
}

/// Seconds in which a rank computes while one of its exchanges runs.
double hidden(const sim::Simulation& s) {
  double sum = 0;
  for (std::size_t a = 0; a < s.graph.tasks.size(); ++a) {
    if (s.graph.tasks[a].stream != Stream::ep) { continue; }
    const std::uint32_t rank = s.graph.groups[s.graph.tasks[a].place].front();
    for (std::size_t b = 0; b < s.graph.tasks.size(); ++b) {
      const strategies::Task& other = s.graph.tasks[b];
      if (other.kind != TaskKind::compute || other.place != rank) { continue; }
      sum += std::max(0.0, std::min(s.timeline.end[a], s.timeline.end[b]) -
                               std::max(s.timeline.start[a], s.timeline.start[b]));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("tokens exchanged in parts are as many bytes, beside the experts' work") {
  const sim::Scenario whole = eight_experts({1, 1, 16}, 8, 32);
  const sim::Simulation together = run_scenario(whole);
  for (const int parts : {2, 4}) {
    CAPTURE(parts);
    sim::Scenario cut = whole;
    cut.strategy.experts.chunks = parts;
    const sim::Simulation apart = run_scenario(cut);
    CHECK(sums_of(apart).exchanges == parts * sums_of(together).exchanges);
    CHECK(sums_of(apart).bytes == sums_of(together).bytes);
    CHECK(sums_of(apart).flops == doctest::Approx(sums_of(together).flops));
    CHECK(sums_of(apart).hardware_flops == doctest::Approx(sums_of(together).hardware_flops));
    CHECK(hidden(together) == doctest::Approx(0));
    CHECK(hidden(apart) > 0);
    // No fewer bytes, and no more time than what is hidden.
    CHECK(apart.timeline.makespan.value >= together.timeline.makespan.value - hidden(apart) - 1e-9);
    CHECK(answer(cut).needed == answer(whole).needed);
  }
}

TEST_CASE("without ranks to exchange with, parts change nothing") {
  sim::Scenario s = eight_experts({1, 1, 4}, 1, 8);
  const double whole = run_scenario(s).timeline.makespan.value;
  s.strategy.experts.chunks = 4;
  CHECK(run_scenario(s).timeline.makespan.value == whole);
}

TEST_CASE("parts of an exchange leave and arrive in order") {
  sim::Scenario s = eight_experts({1, 1, 8}, 8, 8);
  s.strategy.experts.chunks = 4;
  const sim::Simulation run = run_scenario(s);
  double last = 0;
  for (std::size_t t = 0; t < run.graph.tasks.size(); ++t) {
    if (run.graph.tasks[t].stream != Stream::ep) { continue; }
    CHECK(run.timeline.start[t] >= last);
    last = run.timeline.end[t];
  }
}

TEST_CASE("paired phases hide each other's exchanges behind their computation") {
  sim::Scenario s = eight_experts({1, 2, 8}, 8, 64);
  s.strategy.schedule = "dualpipe";
  s.strategy.chunks = 2;
  const sim::Simulation pairs = run_scenario(s);
  CHECK(hidden(pairs) > 0);
  // One order without pairs: nothing is hidden, and all else is the same.
  s.strategy.schedule = "1f1b";
  s.strategy.chunks = 1;
  const sim::Simulation alone = run_scenario(s);
  CHECK(hidden(alone) == doctest::Approx(0));
  CHECK(sums_of(pairs).bytes == sums_of(alone).bytes);
  CHECK(sums_of(pairs).flops == doctest::Approx(sums_of(alone).flops));
}

TEST_CASE("layers tell the load of their fullest expert, its cost, and what was dropped") {
  sim::Scenario s = eight_experts({1, 1, 4}, 4, 8);
  s.strategy.experts.routing.load = models::RoutingLoad::histogram;
  s.strategy.experts.routing.shares = {{1, 1, 0, 0, 0, 0, 0, 0}};  // both on the first rank
  const auto rows = expert_rows(s, run_scenario(s));
  REQUIRE(rows.size() == 1);  // all four layers alike
  CHECK(rows[0].first_layer == 0);
  CHECK(rows[0].last_layer == 3);
  CHECK(rows[0].imbalance == doctest::Approx(4));  // half of the rows each, of eight
  CHECK(rows[0].rank_imbalance == doctest::Approx(4));
  CHECK(rows[0].dropped == 0);
  CHECK(rows[0].slowest > rows[0].mean);
}

TEST_CASE("a capacity of a quarter of the mean drops three quarters of the rows") {
  sim::Scenario s = eight_experts({1, 1, 4}, 4, 8);
  s.strategy.experts.routing = {.kind = models::RoutingKind::top_k_capacity,
                                .capacity_factor = 0.25};
  const auto rows = expert_rows(s, run_scenario(s));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].dropped == doctest::Approx(0.75));
  CHECK(rows[0].slowest == rows[0].mean);  // buffers are computed whole
}

TEST_CASE("a dense model has no rows of experts") {
  const sim::Scenario s = sample("gpt2", {1, 1, 2}, 4, 1);
  CHECK(expert_rows(s, run_scenario(s)).empty());
}
