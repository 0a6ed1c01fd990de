// Whole scenarios whose layers are split over the tensor group in other ways than Megatron's.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/report/report.hpp"
#include "strategies/tensor/operator_cut.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// gpt3-1.3b (16 heads, hidden 2048) over eight ranks of one node, micro-batches of four.
sim::Scenario eight_way() {
  sim::Scenario s = sample("gpt3-1.3b", {8, 1, 1}, 8, 4);
  s.model.vocab = 50304;  // 128 x 393, as Megatron pads it
  return s;
}

void cut(sim::Scenario& s, const std::string& op, const std::string& factors) {
  s.strategy.operators[op] = strategies::parse_factors(factors).value();
}

}  // namespace

TEST_CASE("Megatron's split by operators takes Megatron's time and communications") {
  for (const bool sequence_parallel : {false, true}) {
    for (const int pipeline : {1, 2}) {
      sim::Scenario s = sample("gpt3-1.3b", {8, pipeline, 1}, 16, 4);
      s.model.vocab = 50304;
      s.strategy.sequence_parallel = sequence_parallel;
      s.strategy.recompute = strategies::Recompute::full;
      const sim::Report ruled = answer(s);
      cut(s, "attention.qkv", "((1,1),(1,8))");
      cut(s, "attention.projection", "((1,8),(8,1))");
      cut(s, "mlp.fc1", "((1,1),(1,8))");
      cut(s, "mlp.fc2", "((1,8),(8,1))");
      const sim::Report derived = answer(s);
      CHECK(derived.step.value == ruled.step.value);
      CHECK(derived.model_flops.value == doctest::Approx(ruled.model_flops.value).epsilon(1e-12));
      REQUIRE(derived.communications.size() == ruled.communications.size());
      for (std::size_t i = 0; i < ruled.communications.size(); ++i) {
        CHECK(derived.communications[i].payload == ruled.communications[i].payload);
        CHECK(derived.communications[i].count == ruled.communications[i].count);
      }
    }
  }
}

TEST_CASE("the model's FLOPs are the same however ranks divide or repeat its products") {
  sim::Scenario s = eight_way();
  const double whole = answer(s).model_flops.value;
  cut(s, "mlp.fc1", "((1,1),(1,1))");
  cut(s, "mlp.fc2", "((8,1),(1,1))");
  const sim::Report repeated = answer(s);
  CHECK(repeated.model_flops.value == doctest::Approx(whole).epsilon(1e-12));
  CHECK(repeated.hardware_flops.value > 1.5 * whole);  // half a layer's products, on eight ranks
  s = eight_way();
  s.strategy.grid = {.side = 2, .depth = 2};
  CHECK(answer(s).model_flops.value == doctest::Approx(whole).epsilon(1e-12));
}

TEST_CASE("one chunk is no chunk, and chunks never cost more than they hide on a fast device") {
  sim::Scenario s = eight_way();
  s.strategy.sequence_parallel = true;
  const Seconds whole = answer(s).step;
  s.strategy.tensor_chunks = 1;
  CHECK(answer(s).step == whole);
  s.strategy.tensor_chunks = 4;
  CHECK(answer(s).step < whole);
}

TEST_CASE("a grid's answer is the same with its ranks folded and apart") {
  for (const strategies::TensorGrid grid : {strategies::TensorGrid{2, 1}, {2, 2}}) {
    const int ranks = grid.side * grid.side * grid.depth;
    sim::Scenario s = sample("gpt3-1.3b", {ranks, 2, 1}, 16, 4);
    s.model.vocab = 50304;
    s.strategy.grid = grid;
    const sim::Report folded = answer(s);
    s.fold = sim::Fold::none;
    const sim::Report apart = answer(s);
    CHECK(apart.simulated_ranks == static_cast<std::size_t>(2 * ranks));
    CHECK(folded.step.value == doctest::Approx(apart.step.value).epsilon(1e-9));
    CHECK(folded.needed == apart.needed);
  }
}

TEST_CASE("a grid keeps less of a layer's activations on a rank than one dimension") {
  // Per token and hidden unit one dimension keeps 10 + 24/t [arXiv:2205.05198, eq. 2], a grid all
  // 34/t: for t = 4, 16 against 8.5 (attention kept apart by a flash kernel).
  const auto kept = [](strategies::TensorGrid grid) {
    sim::Scenario s = sample("gpt3-1.3b", {4, 1, 1}, 8, 4);
    s.model.vocab = 50304;
    s.strategy.flash_attention = true;
    s.strategy.grid = grid;
    const auto activations = static_cast<std::size_t>(strategies::MemoryClass::activations);
    return to_double(answer(s).stages.front().peak[activations]);
  };
  CHECK(kept({.side = 2}) < 0.6 * kept({}));
}

TEST_CASE("gradients of a shared key/value head are added up by the ranks that hold it") {
  // llama2-70b has 8 key/value heads: over 16 ranks pairs share one.
  sim::Scenario s = sample("llama2-70b", {16, 1, 1}, 2, 1);
  s.model.layers = 2;
  const sim::Report report = answer(s);
  const auto pairs = std::count_if(report.communications.begin(), report.communications.end(),
                                   [](const sim::CommRow& c) { return c.ranks == 2; });
  CHECK(pairs == 1);
}

TEST_CASE("an algorithm for one operation leaves the others alone") {
  sim::Scenario s = eight_way();
  s.strategy.sequence_parallel = true;
  s.strategy.collective_of[cost::CollectiveOp::all_gather] = "ring";
  s.strategy.collective_of[cost::CollectiveOp::all_reduce] = "tree";
  for (const sim::CommRow& c : answer(s).communications) {
    if (c.label == "tp all_gather") { CHECK(c.algorithm == "ring"); }
    if (c.label == "tp all_reduce") { CHECK(c.algorithm == "tree"); }
  }
}

TEST_CASE("no optimizer starts before every stage has found the norm of all gradients") {
  const auto waits = [](bool clipping) {
    sim::Scenario s = sample("gpt3-1.3b", {2, 4, 1}, 16, 2);
    s.strategy.gradient_clipping = clipping;
    s.fold = sim::Fold::none;
    const sim::Simulation run = run_scenario(s);
    double first_optimizer = 1e9;
    double last_backward = 0;
    for (std::size_t t = 0; t < run.graph.tasks.size(); ++t) {
      const strategies::Phase phase = run.graph.tasks[t].phase;
      if (phase == strategies::Phase::optimizer) {
        first_optimizer = std::min(first_optimizer, run.timeline.start[t]);
      } else if (phase == strategies::Phase::backward) {
        last_backward = std::max(last_backward, run.timeline.end[t]);
      }
    }
    return first_optimizer >= last_backward;
  };
  CHECK(waits(true));
  CHECK_FALSE(waits(false));
}

TEST_CASE("messages cut over the tensor group are put together where they arrive") {
  // 8 MiB between two stages: forward for all micro-batches but into stage 0, backward likewise.
  sim::Scenario s = sample("gpt3-1.3b", {4, 2, 1}, 4, 1);
  s.strategy.scatter_gather = true;
  const sim::Report report = answer(s);
  const auto gathered =
      std::find_if(report.communications.begin(), report.communications.end(),
                   [](const sim::CommRow& c) { return c.label == "tp all_gather"; });
  REQUIRE(gathered != report.communications.end());
  CHECK(gathered->payload == 8_MiB);
  CHECK(gathered->count == 2 * 4);
}
