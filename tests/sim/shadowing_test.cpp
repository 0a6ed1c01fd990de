// Shadowed experts as events of whole iterations.
#include <doctest/doctest.h>

#include "sim/simulation.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// Four layers of eight experts of 512 x 1024 over four ranks, most rows to the first expert.
sim::Scenario skewed(bool shadows) {
  sim::Scenario s = sample("gpt2", {1, 1, 4}, 8, 2);
  models::ModelConfig& m = s.model;
  m.layers = 4;
  m.hidden = 512;
  m.heads = m.kv_heads = 8;
  m.head_dim = 64;
  m.ffn = 1024;
  m.moe = {.experts = 8, .top_k = 1, .ffn = 1024};
  strategies::ExpertParallel& e = s.strategy.experts;
  e.ranks = 4;
  e.experts = 8;
  e.chosen = 1;
  e.routing.load = models::RoutingLoad::histogram;
  e.routing.shares = {{0.72, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04}};
  e.shadowing = {.on = shadows, .network = {25e9}, .compute = {1e14}};
  s.strategy.gradient_clipping = false;
  return s;
}

double bytes_of(const sim::Simulation& run, cost::CollectiveOp op) {
  double sum = 0;
  for (const strategies::Task& task : run.graph.tasks) {
    if (task.stream != strategies::Stream::ep) { continue; }
    const strategies::Comm& comm = run.graph.comms[task.work];
    if (comm.op != op) { continue; }
    for (const strategies::Flow& flow : comm.flows) { sum += flow.bytes; }
  }
  return sum;
}

int count_of(const sim::Simulation& run, cost::CollectiveOp op) {
  int count = 0;
  for (const strategies::Task& task : run.graph.tasks) {
    const bool ep = task.stream == strategies::Stream::ep;
    count += ep && run.graph.comms[task.work].op == op ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("shadowed experts leave no rows of theirs to exchange") {
  const sim::Simulation without = run_scenario(skewed(false));
  const sim::Simulation with = run_scenario(skewed(true));
  for (const auto& shadows : with.draws.shadows) { CHECK(shadows == std::vector<std::int64_t>{0}); }
  // Of the rows that leave a rank 3/4 of 0.72 + 0.04 go to the first one's experts from the others.
  CHECK(bytes_of(with, cost::CollectiveOp::all_to_all) <
        0.5 * bytes_of(without, cost::CollectiveOp::all_to_all));
}

TEST_CASE("every layer's shadow comes once a micro-batch, and its gradients go back once") {
  const sim::Simulation run = run_scenario(skewed(true));
  // Four layers, one micro-batch, one shadow.
  CHECK(count_of(run, cost::CollectiveOp::broadcast) == 4);
  CHECK(count_of(run, cost::CollectiveOp::reduce) == 4);
  CHECK(count_of(run_scenario(skewed(false)), cost::CollectiveOp::broadcast) == 0);
}

TEST_CASE("rows that ranks compute are the same in sum, whoever computes them") {
  const sim::Simulation run = run_scenario(skewed(true));
  for (std::size_t layer = 0; layer < run.draws.layers.size(); ++layer) {
    double sum = 0;
    for (int rank = 0; rank < 4; ++rank) { sum += strategies::load_of(run.draws, layer, 4, rank); }
    CHECK(sum == doctest::Approx(4));
  }
}

TEST_CASE("shadows of a popular expert make an iteration faster") {
  CHECK(run_scenario(skewed(true)).timeline.makespan <
        run_scenario(skewed(false)).timeline.makespan);
}
