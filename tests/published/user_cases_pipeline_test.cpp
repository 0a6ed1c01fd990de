// What users of training stacks asked about pipelines, as figures; each with the thread that it is
// from.
#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "sim/report/report.hpp"
#include "tests/sim/run_pipeline.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

using Peaks = std::vector<std::int64_t>;

Result run_on_star(const Strategy& s, Phases phases, int micro_batches) {
  const auto topology = star(world_size(s), BytesPerSecond{1e9});
  return run(s, equal_stages(s, phases), micro_batches, topology);
}

/// 32 layers on 8 stages, embedding and head apart; with a vocabulary that weighs nothing the
/// stages are equal.
sim::Scenario eight_stages(const char* schedule, int chunks, int micro_batches,
                           std::int64_t vocab) {
  sim::Scenario s = sample("gpt3-6.7b", {1, 8, 1}, micro_batches, 1);
  s.model.tied_embedding = false;
  s.model.vocab = vocab;
  s.workload.sequence = 1024;
  s.strategy.schedule = schedule;
  s.strategy.chunks = chunks;
  return s;
}

struct Case {
  const char* schedule;
  int chunks;
};

std::optional<Demand> demand(const char* schedule, int stages, int chunks, int micro_batches) {
  const Strategy s = pipeline(stages, schedule, chunks);
  return schedule_named(schedule)->demand(shape_of(s, micro_batches));
}

}  // namespace

TEST_CASE("GPipe and 1F1B take equally long, never 71 steps (algolocal PR #95)") {
  // p = 8, m = 32, F = B = 1: (32 + 7) x 2 = 78, 14/78 = 17.95 % idle.
  const Result gpipe = run_on_star(pipeline(8, "gpipe"), {1, 1}, 32);
  const Result one = run_on_star(pipeline(8, "1f1b"), {1, 1}, 32);
  CHECK(gpipe.timeline.makespan.value == doctest::Approx(78));
  CHECK(one.timeline.makespan.value == doctest::Approx(78));
  CHECK(activation_peaks(gpipe) == Peaks(8, 32));
  CHECK(activation_peaks(one) == Peaks{8, 7, 6, 5, 4, 3, 2, 1});
}

TEST_CASE("interleaving: four shapes to the digit (Megatron-LM #169)") {
  CHECK(makespan(pipeline(4, "interleaved", 2), {1, 2}, 8) == doctest::Approx(28.5));
  CHECK(makespan(pipeline(4, "1f1b"), {1, 2}, 8) == doctest::Approx(33));
  CHECK(makespan(pipeline(8, "interleaved", 3), {1, 2}, 16) == doctest::Approx(55));
  CHECK(makespan(pipeline(4, "interleaved", 4), {1, 2}, 16) == doctest::Approx(50.25));
  CHECK(makespan(pipeline(4, "interleaved", 2), {1, 2}, 4) == doctest::Approx(16.5));
}

TEST_CASE("interleaving holds 11 chunks, 5.5 stages' worth, on the first rank (Megatron-LM #675)") {
  const Result r = run_on_star(pipeline(4, "interleaved", 2), {1, 2}, 8);
  CHECK(activation_peaks(r).front() == 11);
}

TEST_CASE(
    "micro-batches that are no multiple of the stages are refused, or grouped (PiPPy #1048)") {
  REQUIRE(demand("interleaved", 4, 2, 10).has_value());
  CHECK(demand("interleaved", 4, 2, 10)->of == Demand::Of::micro_batches);
  CHECK_FALSE(demand("interleaved", 4, 2, 8).has_value());
  CHECK_FALSE(demand("interleaved", 4, 2, 12).has_value());
  // In two rounds of five, nothing waits for ever.
  Strategy s = pipeline(4, "interleaved", 2);
  s.micro_batch_group = 5;
  CHECK_FALSE(schedule_named("interleaved")->demand(shape_of(s, 10)).has_value());
  CHECK(run_on_star(s, {1, 2}, 10).timeline.makespan.value >= 30);
}

TEST_CASE("DualPipe refuses odd stages, odd micro-batches and fewer than 2p (DualPipe #23)") {
  CHECK(demand("dualpipe", 7, 2, 20).has_value());
  CHECK(demand("dualpipe", 8, 2, 21).has_value());
  CHECK(demand("dualpipe", 8, 2, 14).has_value());
  CHECK_FALSE(demand("dualpipe", 8, 2, 16).has_value());
  CHECK_FALSE(demand("dualpipe_v", 4, 2, 8).has_value());
  CHECK(demand("dualpipe_v", 4, 2, 7).has_value());
}

TEST_CASE("from the first task to the last ZB-H2 takes as long as ZB-H1 (pytorch PR #130210)") {
  const Phases phases{1, 2, 1};
  for (const auto& shape : {std::array{4, 12, 39}, std::array{8, 24, 79}}) {
    const int p = shape[0];
    const int m = shape[1];
    const int expected = shape[2];
    CAPTURE(p);
    const Result h1 = run_on_star(pipeline(p, "zb_h1"), phases, m);
    const Result h2 = run_on_star(pipeline(p, "zb_h2"), phases, m);
    CHECK(h1.timeline.makespan.value == doctest::Approx(expected));
    CHECK(h2.timeline.makespan.value == doctest::Approx(expected));
    CHECK(activation_peaks(h1).front() == p);
    CHECK(activation_peaks(h2).front() == 2 * p - 1);
  }
}

TEST_CASE("fewer micro-batches than stages run (torchtitan #775)") {
  for (const char* schedule : {"1f1b", "gpipe"}) {
    CHECK(makespan(pipeline(4, schedule), {1, 2}, 1) == doctest::Approx(12));
    CHECK(makespan(pipeline(8, schedule), {1, 1}, 4) == doctest::Approx(22));
  }
}

TEST_CASE("no layer vanishes when stages do not divide them (Megatron-LM #1304)") {
  for (const auto& [layers, stages] : {std::pair{30, 4}, std::pair{40, 16}}) {
    sim::Scenario s = sample("gpt2", {1, stages, 1}, 16, 1);
    s.model.layers = layers;
    s.strategy.split = LayerSplit::balanced;
    const sim::Report r = answer(s);
    std::int64_t dealt = 0;
    std::int64_t held = 0;
    for (const sim::StageReport& stage : r.stages) {
      dealt += stage.layers;
      held += stage.parameters;
    }
    CHECK(dealt == layers);
    // The head's copy of the tied embedding is held once more.
    CHECK(held == models::parameters(s.model) + s.model.vocab * s.model.hidden);
  }
}

TEST_CASE("a V puts the head beside the embedding, nothing else moves (zero-bubble #36)") {
  const std::int64_t vocab = 50304;
  const sim::Report v = answer(eight_stages("zb_v", 2, 16, vocab));
  const sim::Report plain = answer(eight_stages("1f1b", 1, 16, vocab));
  const auto parameters = [](const sim::Report& r, std::size_t stage) {
    return r.stages[stage].parameters;
  };
  const std::int64_t head = parameters(plain, 7) - parameters(plain, 6);
  CHECK(head >= vocab * 4096);
  CHECK(parameters(v, 0) == parameters(plain, 0) + head);
  for (std::size_t stage = 1; stage < 7; ++stage) {
    CHECK(parameters(v, stage) == parameters(plain, stage));
  }
  CHECK(parameters(v, 7) == parameters(plain, 6));
  // The loss goes with it.
  const auto logits = static_cast<std::size_t>(MemoryClass::logits);
  CHECK(v.stages[0].contents == "embedding, layers 0-1, layers 30-31, head");
  CHECK(v.stages[7].peak[logits].value == 0);
}

TEST_CASE("four schedules on eight stages rank as measured (zero-bubble #21)") {
  // Measured: 55, 64, 66 and 67 samples/s, 48, 53, 57 and 79 GB. The last three speeds are close.
  const std::array cases{Case{"1f1b", 1}, Case{"zb_v", 2}, Case{"interleaved", 4},
                         Case{"zb_h2", 1}};
  std::vector<double> speed;
  std::vector<Bytes> memory;
  for (const Case& c : cases) {
    const sim::Report r = answer(eight_stages(c.schedule, c.chunks, 24, 512));
    speed.push_back(r.samples_per_second);
    memory.push_back(r.needed);
  }
  for (std::size_t i = 1; i < cases.size(); ++i) {
    CAPTURE(cases[i].schedule);
    CHECK(speed[i] > speed[0]);
    CHECK(memory[i] > memory[i - 1]);
  }
}

TEST_CASE("with many micro-batches all four are within 3 % (zero-bubble #21)") {
  const double plain = answer(eight_stages("1f1b", 1, 512, 512)).samples_per_second;
  for (const Case& c : {Case{"zb_v", 2}, Case{"interleaved", 4}, Case{"zb_h2", 1}}) {
    const char* const schedule = c.schedule;
    const int chunks = c.chunks;
    CAPTURE(schedule);
    const double speed = answer(eight_stages(schedule, chunks, 512, 512)).samples_per_second;
    CHECK(speed / plain == doctest::Approx(1).epsilon(0.03));
  }
}
