#include "sim/report/traffic.hpp"

#include <doctest/doctest.h>

#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// Row of one kind of group in a scenario's answer.
sim::TrafficRow row_of(const sim::Scenario& s, std::string_view group) {
  for (const sim::TrafficRow& row : summarise(s, run_scenario(s)).traffic) {
    if (row.group == group) { return row; }
  }
  return {};
}

double crossing(const sim::TrafficRow& row, cost::LinkKind kind) {
  return row.crossing[static_cast<std::size_t>(kind)] / row.sent;
}

/// Two nodes of eight; tensor groups of eight, two replicas.
sim::Scenario two_nodes(std::string order) {
  sim::Scenario s = sample("gpt3-1.3b", {8, 1, 2}, 4, 2);
  s.strategy.order = std::move(order);
  s.strategy.collective = "ring";
  return s;
}

}  // namespace

TEST_CASE("with tp innermost tensor traffic stays on NVLink and gradients cross NICs") {
  const sim::Scenario s = two_nodes("tp-dp-pp");
  CHECK(crossing(row_of(s, "tp"), cost::LinkKind::nvlink) == 1.0);
  CHECK(crossing(row_of(s, "tp"), cost::LinkKind::nic) == 0.0);
  CHECK(crossing(row_of(s, "dp"), cost::LinkKind::nic) == 1.0);
}

TEST_CASE("with dp innermost two of the eight hops of a tensor ring leave the node") {
  // Ranks 0, 2, ..., 14: four on each node.
  const sim::Scenario s = two_nodes("dp-tp-pp");
  CHECK(crossing(row_of(s, "tp"), cost::LinkKind::nic) == doctest::Approx(2.0 / 8));
  CHECK(crossing(row_of(s, "dp"), cost::LinkKind::nic) == 0.0);
  CHECK(crossing(row_of(s, "dp"), cost::LinkKind::nvlink) == 1.0);
}

TEST_CASE("what data-parallel groups send is 2 (d - 1) times the gradients of each rank") {
  // A ring of two: 2 (2 - 1) S over both ranks, in fp32, for every tensor rank.
  const sim::Scenario s = two_nodes("tp-dp-pp");
  const sim::Simulation run = run_scenario(s);
  const double gradients = 4.0 * static_cast<double>(run.stages.front().elements);
  CHECK(row_of(s, "dp").sent == doctest::Approx(8 * 2 * gradients).epsilon(1e-9));
}

TEST_CASE("symmetric ranks send as much folded as apart") {
  sim::Scenario s = sample("gpt3-1.3b", {2, 2, 4}, 16, 2);
  const sim::TrafficRow folded = row_of(s, "tp");
  s.fold = sim::Fold::none;
  CHECK(folded.sent == doctest::Approx(row_of(s, "tp").sent).epsilon(1e-12));
  CHECK(folded.crossing == row_of(s, "tp").crossing);
}
