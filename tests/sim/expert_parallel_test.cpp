// Experts over ranks as events: what must hold of whole iterations.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/report/report.hpp"
#include "sim/simulation.hpp"
#include "strategies/memory.hpp"
#include "tests/sim/folding.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::Dispatch;
using strategies::MemoryClass;

namespace {

/// Four layers of eight experts of 1,024 columns, two for each token; 512 tokens a sample.
models::ModelConfig eight_experts() {
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
  return m;
}

struct Spread {
  int expert = 1, expert_tensor = 0;
};

sim::Scenario spread(Degrees degrees, Spread s, std::int64_t batch = 32) {
  sim::Scenario scenario = sample("gpt2", degrees, batch, 1);
  scenario.model = eight_experts();
  scenario.unpadded_vocab = 4096;
  scenario.strategy.experts.ranks = s.expert;
  scenario.strategy.experts.tensor = s.expert_tensor;
  scenario.strategy.experts.experts = 8;
  scenario.strategy.experts.chosen = 2;
  scenario.strategy.gradient_clipping = false;
  return scenario;
}

double seconds_of(const sim::Simulation& s, strategies::Stream stream) {
  double sum = 0;
  for (std::size_t t = 0; t < s.graph.tasks.size(); ++t) {
    if (s.graph.tasks[t].stream == stream) { sum += s.timeline.end[t] - s.timeline.start[t]; }
  }
  return sum;
}

}  // namespace

TEST_CASE("folding changes no figure with experts over ranks of one or several nodes") {
  std::vector<sim::Scenario> all{spread({1, 1, 16}, {4}),   spread({1, 1, 16}, {8}),
                                 spread({2, 1, 8}, {4}),    spread({2, 1, 8}, {4, 1}),
                                 spread({4, 1, 4}, {2, 1}), spread({2, 2, 8}, {8, 1})};
  all.push_back(spread({1, 2, 8}, {8}));
  all.back().strategy.schedule = "dualpipe";
  all.back().strategy.chunks = 2;
  for (const Dispatch way : {Dispatch::hierarchical, Dispatch::rails, Dispatch::all_gather}) {
    all.push_back(spread({1, 1, 16}, {8}));
    all.back().strategy.experts.dispatch = way;
    all.back().strategy.zero.stage = 1;
  }
  for (const sim::Scenario& s : all) {
    CAPTURE(s.strategy.tensor);
    CAPTURE(s.strategy.experts.ranks);
    CAPTURE(s.strategy.experts.tensor);
    CAPTURE(name_of(s.strategy.experts.dispatch));
    check_folded(answer(s), answer(unfolded(s)));
  }
}

TEST_CASE("without tensor parallelism experts over replicas exchange tokens") {
  const sim::Simulation s = run_scenario(spread({1, 1, 8}, {8}));
  CHECK(seconds_of(s, strategies::Stream::ep) > 0);
  CHECK(seconds_of(s, strategies::Stream::tp) == 0);
  // Four layers, there and back, forward and backward, of four micro-batches: each rank has 512
  // tokens twice, of 512 columns of two bytes.
  std::size_t exchanges = 0;
  for (const strategies::Task& task : s.graph.tasks) {
    if (task.stream != strategies::Stream::ep) { continue; }
    ++exchanges;
    CHECK(s.graph.comms[task.work].payload == Bytes{512 * 2 * 512 * 2});
  }
  CHECK(exchanges == 4 * 4 * 4);
}

TEST_CASE("a rank holds its experts and all else") {
  // Of an expert 2 x 512 x 1024 weights and 1024 + 512 biases; 4 layers.
  const std::int64_t expert = 4 * (2 * 512 * 1024 + 1024 + 512);
  const std::int64_t whole = run_scenario(spread({1, 1, 8}, {1})).stages.front().elements;
  for (const int ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    const auto s = run_scenario(spread({1, 1, 8}, {ranks}));
    CHECK(s.stages.front().elements == whole - expert * (8 - 8 / ranks));
    CHECK(s.stages.front().experts.elements == expert * (8 / ranks));
  }
}

TEST_CASE("experts' states are sharded over the ranks that hold copies of them") {
  sim::Scenario s = spread({1, 1, 8}, {4});
  s.strategy.zero.stage = 1;
  const auto plan = run_scenario(s).stages.front();
  const auto bytes = state_bytes(plan.elements, s.strategy, 0, plan.shapes, plan.experts);
  const std::int64_t dense = plan.elements - plan.experts.elements;
  // Master copy and two moments of four bytes; 8 replicas, 2 copies of each expert.
  CHECK(bytes.optimizer == Bytes{12 * ((dense + 7) / 8) + 12 * (plan.experts.elements / 2)});
}

TEST_CASE("however experts are spread, the ranks together compute the same") {
  const double alone = answer(spread({1, 1, 8}, {1})).model_flops.value;
  for (const Spread s : {Spread{2}, Spread{4}, Spread{8}}) {
    CHECK(answer(spread({1, 1, 8}, s)).model_flops.value == doctest::Approx(alone));
  }
  for (const Spread s : {Spread{1}, Spread{4}, Spread{8, 1}, Spread{2, 1}}) {
    CHECK(answer(spread({2, 1, 4}, s)).model_flops.value == doctest::Approx(alone));
  }
}

TEST_CASE("on one rank all experts of each token are a dense MLP of their columns together") {
  sim::Scenario all = spread({1, 1, 1}, {1}, 1);
  all.model.moe.top_k = 8;
  sim::Scenario dense = all;
  dense.model.moe = {};
  dense.model.ffn = 8 * 1024;
  // The router's products besides: 3 x 2 x tokens x hidden x experts in each layer.
  const double router = 4.0 * 3 * 2 * 512 * 512 * 8;
  CHECK(answer(all).model_flops.value == doctest::Approx(answer(dense).model_flops.value + router));
  all.model.moe = {.experts = 1, .top_k = 1, .ffn = 8 * 1024};
  CHECK(answer(all).model_flops.value ==
        doctest::Approx(answer(dense).model_flops.value + router / 8));
}

TEST_CASE("a capacity below the mean computes and sends so much less") {
  sim::Scenario s = spread({1, 1, 8}, {8});
  s.strategy.experts.routing = {.kind = models::RoutingKind::top_k_capacity,
                                .capacity_factor = 0.25};  // three of four rows are dropped
  const sim::Simulation run = run_scenario(s);
  for (const strategies::Task& task : run.graph.tasks) {
    if (task.stream != strategies::Stream::ep) { continue; }
    CHECK(run.graph.comms[task.work].payload == Bytes{512 * 2 * 512 * 2 / 4});
  }
  CHECK(run.timeline.makespan < run_scenario(spread({1, 1, 8}, {8})).timeline.makespan);
}

TEST_CASE("an expert that gets all tokens holds up the ranks whose experts get none") {
  sim::Scenario s = spread({1, 1, 4}, {4});
  s.strategy.experts.routing.load = models::RoutingLoad::histogram;
  s.strategy.experts.routing.shares = {{1, 1, 0, 0, 0, 0, 0, 0}};  // both on the first rank
  const sim::Simulation run = run_scenario(s);
  REQUIRE(run.graph.ranks.size() == 4);
  REQUIRE(run.draws.layers.size() == 4);
  CHECK(strategies::load_of(run.draws, 0, 4, 0) == doctest::Approx(4));
  CHECK(strategies::load_of(run.draws, 0, 4, 3) == doctest::Approx(0));
  std::vector<double> busy(4, 0.0);
  for (std::size_t t = 0; t < run.graph.tasks.size(); ++t) {
    const strategies::Task& task = run.graph.tasks[t];
    if (task.kind != strategies::TaskKind::compute) { continue; }
    busy[task.place] += run.timeline.end[t] - run.timeline.start[t];
  }
  CHECK(busy[0] > busy[1]);
  CHECK(busy[1] == doctest::Approx(busy[3]));
  CHECK(run.timeline.makespan > run_scenario(spread({1, 1, 4}, {4})).timeline.makespan);
}

TEST_CASE("a drawn load is the same at every run, and another with another seed") {
  sim::Scenario s = spread({1, 1, 8}, {8});
  s.strategy.experts.routing.load = models::RoutingLoad::zipf;
  const double once = run_scenario(s).timeline.makespan.value;
  CHECK(run_scenario(s).timeline.makespan.value == once);
  s.strategy.experts.routing.seed = 1;
  CHECK(run_scenario(s).timeline.makespan.value != once);
}

TEST_CASE("gradients that the backward makes are sharded over the copies of what they are of") {
  sim::Scenario s = spread({1, 1, 8}, {4});
  s.strategy.zero.stage = 2;
  s.strategy.gradients_when_made = true;
  s.strategy.gradient_sync = strategies::GradientSync::every;
  const auto plan = run_scenario(s).stages.front();
  const std::int64_t dense = plan.elements - plan.experts.elements;
  // fp32; 8 replicas hold the rest of a layer, two the same experts.
  CHECK(plan.chunks.front().gradients ==
        Bytes{4 * ((dense + 7) / 8) + 4 * (plan.experts.elements / 2)});
}

namespace {

/// Bytes of parameters that the first micro-batch gathers.
std::int64_t gathered(const sim::Simulation& run) {
  std::int64_t sum = 0;
  for (const strategies::Task& task : run.graph.tasks) {
    const bool gathers = task.phase == strategies::Phase::parameter_sync && task.micro_batch == 0;
    if (gathers) { sum += run.graph.comms[task.work].payload.value; }
  }
  return sum;
}

}  // namespace

TEST_CASE("at ZeRO stage 3 all but experts without copies is gathered block by block") {
  sim::Scenario s = spread({1, 1, 8}, {8});
  const auto whole = run_scenario(s).stages.front();
  s.strategy.zero.stage = 3;
  const sim::Simulation run = run_scenario(s);
  const auto& plan = run.stages.front();
  const std::int64_t dense = plan.elements - plan.experts.elements;
  CHECK(plan.experts.elements == whole.experts.elements);
  const auto bytes = state_bytes(plan.elements, s.strategy, 0, plan.shapes, plan.experts);
  CHECK(bytes.parameters == Bytes{2 * ((dense + 7) / 8) + 2 * plan.experts.elements});
  // With all experts on every rank each layer's are gathered, too, forward and backward: four
  // layers of eight experts of 2 x 512 x 1024 weights and 1024 + 512 biases.
  sim::Scenario together = s;
  together.strategy.experts.ranks = 1;
  const std::int64_t experts = std::int64_t{4} * 8 * (2 * 512 * 1024 + 1024 + 512);
  CHECK(gathered(run_scenario(together)) - gathered(run) == 2 * 2 * experts);
}
