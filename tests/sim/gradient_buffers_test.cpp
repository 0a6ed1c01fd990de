// Where gradients lie, what adding them up costs, and a vocabulary that is not split.
#include <doctest/doctest.h>

#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::MemoryClass;

namespace {

Bytes peak_of(const sim::Report& report, MemoryClass cls) {
  return report.stages.front().peak[static_cast<std::size_t>(cls)];
}

/// bert-base on one device, flash attention aside, in `micro_batches`.
sim::Scenario one_device(int micro_batches) {
  sim::Scenario s = sample("bert-base", {}, 8 * micro_batches, 8);
  s.strategy.flash_attention = true;
  return s;
}

}  // namespace

TEST_CASE("gradients made by the backward are not there at the peak before it") {
  // fp32 gradients of 4 bytes; activations of 8 samples outweigh them.
  const sim::Report always = answer(one_device(1));
  sim::Scenario s = one_device(1);
  s.strategy.gradients_when_made = true;
  const sim::Report made = answer(s);
  const std::int64_t parameters = always.stages.front().parameters;
  CHECK(always.needed - made.needed == parameters * 4_B);
  CHECK(peak_of(made, MemoryClass::gradients) == 0_B);
  CHECK(made.step.value == always.step.value);
}

TEST_CASE("with more micro-batches gradients of the first are there when the second peaks") {
  sim::Scenario s = one_device(2);
  const sim::Report always = answer(s);
  s.strategy.gradients_when_made = true;
  CHECK(answer(s).needed == always.needed);
}

TEST_CASE("sharded gradients are allocated and freed in shards, by every schedule") {
  for (const char* schedule : {"1f1b", "zb_h1", "gpipe"}) {
    CAPTURE(schedule);
    sim::Scenario s = sample("bert-base", {1, 4, 2}, 64, 4);
    s.strategy.schedule = schedule;
    s.strategy.zero.stage = 1;
    const sim::Report always = answer(s);
    s.strategy.gradients_when_made = true;
    const sim::Report made = answer(s);
    CHECK(made.step.value == always.step.value);
    CHECK(made.needed <= always.needed);
  }
}

TEST_CASE("adding gradients by kernels of their own moves old, new and sum") {
  // 2 bytes of the new gradient, 4 + 4 of the fp32 sum, at 2 TB/s: of every micro-batch where the
  // sum is there from the start, of all but the first where that one makes it.
  const int micro_batches = 4;
  sim::Scenario s = one_device(micro_batches);
  const sim::Report fused = answer(s);
  const double once = static_cast<double>(fused.stages.front().parameters) * 10 / 2e12;
  s.strategy.eager_accumulation = true;
  // The tied word embedding gets a gradient from the head and one from the lookup.
  const double tied = 30522.0 * 768 * 10 / 2e12;
  // A product that adds to the sum itself moves 8 bytes, not the 2 of its result: 12 h^2 weights of
  // 12 layers, h^2 before the head, and the head's.
  const double weights = 768.0 * (12 * 12 * 768 + 768 + 30522);
  const double inside = micro_batches * weights * 6 / 2e12;
  CHECK((answer(s).step - fused.step).value ==
        doctest::Approx(micro_batches * (once + tied) - inside).epsilon(1e-6));
  s.strategy.gradients_when_made = true;
  CHECK((answer(s).step - fused.step).value ==
        doctest::Approx((micro_batches - 1) * (once + tied) - inside).epsilon(1e-6));
}

TEST_CASE("a vocabulary that is not split is on every tensor rank, and its work counts once") {
  sim::Scenario s = sample("bert-base", {2, 1, 1}, 8, 8);
  s.model.vocab = 30592;
  const sim::Report split = answer(s);
  s.strategy.vocabulary_parallel = false;
  const sim::Report whole = answer(s);
  const std::int64_t half = 30592 / 2;
  // The word embedding and the head's bias.
  CHECK(whole.stages.front().parameters - split.stages.front().parameters >= half * 768);
  CHECK(whole.model_flops.value == doctest::Approx(split.model_flops.value).epsilon(1e-12));
  CHECK(whole.step > split.step);
}

TEST_CASE(
    "with sequence parallelism the head's tokens and the embedding's gradients are gathered") {
  const auto gathers = [](int layers) {
    sim::Scenario s = sample("gpt3-1.3b", {2, 1, 1}, 4, 4);
    s.model.layers = layers;
    s.strategy.sequence_parallel = true;
    s.strategy.vocabulary_parallel = false;
    std::int64_t count = 0;
    for (const sim::CommRow& row : answer(s).communications) {
      count += row.label.find("all_gather") != std::string::npos ? row.count : 0;
    }
    return count;
  };
  const std::int64_t of_a_layer = gathers(2) - gathers(1);
  CHECK(of_a_layer >= 4);  // before qkv and fc1, forward and backward
  CHECK(gathers(1) - of_a_layer == 2);
}
