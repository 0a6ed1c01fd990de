// What users of training stacks asked about memory, as figures; each with the thread that it is
// from.
#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "strategies/memory.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using models::DType;
using strategies::MemoryClass;

namespace {

Bytes held(const sim::StageReport& stage, MemoryClass c) {
  return stage.peak[static_cast<std::size_t>(c)];
}

sim::Scenario small_gpt(Degrees degrees, std::int64_t global_batch) {
  sim::Scenario s = sample("gpt2", degrees, global_batch, 1);
  s.model.vocab = 50304;  // divides by 8
  s.workload.sequence = 256;
  return s;
}

}  // namespace

TEST_CASE("without replicas ZeRO changes no byte of a whole run (DeepSpeed #237)") {
  sim::Scenario s = small_gpt({4, 1, 1}, 2);
  const sim::Report plain = answer(s);
  s.strategy.zero.stage = 1;
  CHECK(answer(s).stages.front().peak == plain.stages.front().peak);
}

TEST_CASE(
    "8192 tokens of a vocabulary of 151936 keep 4.637 GiB of fp32 logits (Megatron-LM PR #132)") {
  // tokens x V x 4 bytes = 4.637 GiB on the last stage only; a vocabulary split over t keeps 1/t.
  CHECK(8192.0 * 151936 * 4 / (1 << 30) == doctest::Approx(4.637).epsilon(1e-4));
  const auto logits = [](int tensor) {
    sim::Scenario s = sample("gpt2", {tensor, 2, 1}, 8, 8);
    s.model.vocab = 151936;
    const sim::Report r = answer(s);
    CHECK(held(r.stages.front(), MemoryClass::logits).value == 0);
    return to_double(held(r.stages.back(), MemoryClass::logits));
  };
  const double whole = logits(1);
  CHECK(whole >= 8192.0 * 151936 * 4);
  CHECK(whole / logits(4) == doctest::Approx(4).epsilon(0.001));
}

TEST_CASE("the padded vocabulary counts: 786.0 MiB, not 785.3 (Megatron-LM #525)") {
  const auto logits = [](std::int64_t vocab) {
    sim::Scenario s = sample("gpt2-large", {1, 1, 1}, 4, 4);
    s.model.vocab = vocab;
    return held(answer(s).stages.front(), MemoryClass::logits);
  };
  // Per token of the 4 x 1024, and for at least one fp32 copy.
  CHECK((logits(50304) - logits(50257)).value >= 4LL * 1024 * (50304 - 50257) * 4);
}

TEST_CASE("bytes of a parameter's states by format (maxtext #606)") {
  const auto bytes = [](const strategies::Precision& precision) {
    return state_sizes(precision, strategies::Optimizer::adam);
  };
  // All fp32 without a master copy: 4 + 4 + 4 before gradients, 80.4 GB for 6.7e9 parameters.
  const auto fp32 =
      bytes({.compute = DType::fp32, .gradient = DType::fp32, .master_weights = false});
  CHECK((fp32.parameter + fp32.optimizer) * 6.7 == doctest::Approx(80.4));
  const auto mixed = bytes({.compute = DType::bf16, .gradient = DType::bf16});
  CHECK((mixed.parameter + mixed.gradient + mixed.optimizer) * 6.7 == doctest::Approx(107.2));
  const auto wide = bytes({.compute = DType::bf16, .gradient = DType::fp32});
  CHECK((wide.parameter + wide.gradient + wide.optimizer) * 6.7 == doctest::Approx(120.6));
}

TEST_CASE("the heaviest stage, not the mean, is what must fit (Megatron-Bridge PR #5077)") {
  sim::Scenario s = small_gpt({1, 4, 1}, 4);
  s.model.layers = 8;
  s.strategy.split = strategies::LayerSplit::list;
  s.strategy.layers_per_stage = {1, 2, 2, 3};
  const sim::Report r = answer(s);
  Bytes largest;
  for (const sim::StageReport& stage : r.stages) {
    largest = std::max(largest, sim::total(stage.peak));
  }
  CHECK(r.needed == largest);
  CHECK(sim::total(r.stages[r.heaviest_stage].peak) == largest);
}

TEST_CASE("what is set aside is shown apart and leaves the tensors as they are (torchtune #1185)") {
  sim::Scenario s = small_gpt({1, 1, 1}, 1);
  const sim::Report plain = answer(s);
  CHECK(plain.allowance.value == 0);
  s.allowance = 0.5;
  const sim::Report r = answer(s);
  CHECK(r.stages.front().peak == plain.stages.front().peak);
  CHECK(r.needed == plain.needed + r.allowance);
}
