// Low-rank adapters in whole iterations: memory and FLOPs by hand, and what must hold.
#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/folding.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::MemoryClass;

namespace {

sim::Scenario llama(const char* name, Degrees degrees, models::LoraConfig lora = {.rank = 16}) {
  sim::Scenario s = sample(name, degrees, 8, 1);
  s.model.sequence = 2048;
  s.model.lora = std::move(lora);
  s.strategy.flash_attention = true;
  s.strategy.precision.compute = models::DType::bf16;
  return s;
}

std::int64_t bytes_at(const sim::Report& r, MemoryClass kind) {
  return r.stages.front().peak[static_cast<std::size_t>(kind)].value;
}

}  // namespace

TEST_CASE("a 70B base over 8 tensor ranks: 17.6 GB, and 18 bytes of each adapter element") {
  const sim::Scenario s = llama("llama3-70b", {8, 1, 1});
  const sim::Report r = answer(s);
  // By hand: 80 layers of 8192 (10240 + 8192 + 57344) + 28672 x 8192 over 8 ranks, embedding and
  // head of 128256 x 8192 over 8 too, 161 norms of 8192 whole; 2 bytes each.
  const std::int64_t matrices =
      80 * (8192LL * (10'240 + 8'192 + 57'344) + 28'672LL * 8'192) + 2 * 128'256LL * 8'192;
  const std::int64_t frozen = matrices / 8 + 161 * 8'192;
  // Adapters: A of qkv and fc1 and B of the projection and fc2 whole, 4 x 8192 x 16; the others
  // split: (10240 + 57344 + 8192 + 28672) x 16 / 8.
  const std::int64_t trained = 80 * 16 * (4 * 8'192 + (10'240 + 57'344 + 8'192 + 28'672) / 8);
  CHECK(r.stages.front().trained == trained);
  CHECK(r.stages.front().parameters == frozen + trained);
  CHECK(bytes_at(r, MemoryClass::parameters) == 2 * (frozen + trained));
  CHECK(bytes_at(r, MemoryClass::gradients) == 4 * trained);
  CHECK(bytes_at(r, MemoryClass::optimizer) == 12 * trained);
  REQUIRE(r.parameter_bytes);
  CHECK(r.parameter_bytes->weights + r.parameter_bytes->gradients + r.parameter_bytes->optimizer ==
        doctest::Approx(18));
}

TEST_CASE("events count the model FLOPs of a step with frozen weights") {
  for (const Degrees degrees : {Degrees{1, 1, 1}, Degrees{4, 1, 1}, Degrees{2, 2, 2}}) {
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && degrees.tensor == 1) { continue; }
      sim::Scenario s = llama("llama3-8b", degrees);
      s.strategy.sequence_parallel = sequence_parallel;
      const models::Model model = build_model(s.model, sim::build_options(s));
      CHECK(answer(s).model_flops.value ==
            doctest::Approx(8 * training_model_flops(model).value).epsilon(1e-9));
    }
  }
}

TEST_CASE("the closed form of a step with frozen weights is the event run's") {
  for (const Degrees degrees : {Degrees{1, 1, 8}, Degrees{4, 1, 2}, Degrees{2, 4, 1}}) {
    for (const int stage : {0, 1}) {
      sim::Scenario s = llama("llama3-8b", degrees);
      s.strategy.zero.stage = stage;
      const sim::Simulation simulation = run_scenario(s);
      REQUIRE(simulation.closed_form.known);
      CHECK(simulation.timeline.makespan.value ==
            doctest::Approx(simulation.closed_form.step.value).epsilon(0.01));
    }
  }
}

TEST_CASE("stage 3 gathers frozen weights and sends adapters' gradients alone") {
  sim::Scenario s = llama("llama3-8b", {1, 1, 8});
  s.strategy.zero.stage = 3;
  const sim::Report r = answer(s);
  const std::int64_t all = models::parameters(s.model);
  const auto parameters = static_cast<double>(bytes_at(r, MemoryClass::parameters));
  CHECK(parameters == doctest::Approx(2.0 * static_cast<double>(all) / 8).epsilon(1e-3));
  double gathered = 0;
  double reduced = 0;
  for (const sim::CommRow& row : r.communications) {
    const double bytes = static_cast<double>(row.count) * to_double(row.payload);
    if (row.label.find("all_gather") != std::string::npos) { gathered += bytes; }
    if (row.label.find("reduce_scatter") != std::string::npos) { reduced += bytes; }
  }
  // One micro-batch a replica, 2 bytes: layers are gathered for the forward and the backward; the
  // head stays from one to the other, and the embedding has no backward.
  const double table = 128'256.0 * 4'096;
  const double layers = static_cast<double>(all) - 2 * table;
  CHECK(gathered == doctest::Approx(2 * (2 * layers + 2 * table)).epsilon(1e-6));
  CHECK(reduced == doctest::Approx(4.0 * static_cast<double>(models::trained_parameters(s.model))));
}

TEST_CASE("folding changes no figure with adapters") {
  for (const int stage : {0, 1, 2, 3}) {
    sim::Scenario s = llama("llama3-8b", {2, 1, 8});
    s.workload.global_batch = 16;
    s.strategy.zero.stage = stage;
    CAPTURE(stage);
    check_folded(answer(s), answer(unfolded(s)));
  }
}

TEST_CASE("adapters take less memory and time than training all, more than a forward") {
  const auto trained = answer(llama("llama3-8b", {4, 1, 2}, {}));
  const auto adapted = answer(llama("llama3-8b", {4, 1, 2}));
  const auto narrow =
      answer(llama("llama3-8b", {4, 1, 2}, {.rank = 16, .targets = {"attention.qkv"}}));
  CHECK(adapted.step.value < trained.step.value);
  CHECK(adapted.needed < trained.needed);
  CHECK(narrow.step.value < adapted.step.value);
  CHECK(narrow.needed < adapted.needed);
  // Between 4 and 6 of 6 FLOPs.
  CHECK(narrow.step.value > 0.6 * trained.step.value);
}

TEST_CASE("recomputed layers, delayed weight gradients and 8-bit states run with adapters") {
  sim::Scenario full = llama("llama3-8b", {2, 2, 2});
  full.strategy.recompute = strategies::Recompute::full;
  CHECK(answer(full).step.value > answer(llama("llama3-8b", {2, 2, 2})).step.value);
  sim::Scenario split = llama("llama3-8b", {2, 2, 2});
  split.strategy.schedule = "zb_h1";
  const auto r = answer(split);
  const models::Model model = build_model(split.model, sim::build_options(split));
  CHECK(r.model_flops.value ==
        doctest::Approx(8 * training_model_flops(model).value).epsilon(1e-9));
}
