// The analytic tier against strategies::closed_form() and the event tier's memory.
#include "sim/sweep/estimator.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sim/input/read_scenario.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/report/report.hpp"
#include "sim/simulation.hpp"

namespace tsim::sim {
namespace {

Scenario open_scenario(const std::string& text) {
  Problems problems;
  const auto document = parse_json(text, "", problems);
  Scenario s = read_open_scenario(*document, "test.json", problems);
  for (const InputError& e : problems.errors()) { FAIL(to_text(e)); }
  return s;
}

Scenario gpt3(const std::string& strategy, const std::string& model) {
  return open_scenario(R"({"model": )" + model + R"(,
    "workload": {"global_batch": 32, "micro_batch": 1, "sequence": 2048},
    "cluster": {"base": "a100_selene", "nodes": 4},
    "strategy": {)" + strategy +
                       R"(}, "precision": {"compute": "fp16", "gradient": "fp32"}})");
}

std::int64_t one_of(const std::vector<std::int64_t>& values, std::mt19937& random) {
  return values[random() % values.size()];
}

std::int64_t schedule_index(const char* name) {
  return strategies::schedule_named(name) - strategies::schedules().data();
}

Choice random_choice(std::mt19937& random, std::int64_t devices) {
  Choice c;
  c[Field::flash_attention] = one_of({0, 1}, random);
  c[Field::overlap_tensor] = one_of({0, 1}, random);
  c[Field::scatter_gather] = one_of({0, 1}, random);
  c[Field::overlap_gradients] = one_of({0, 1, 1}, random);
  c[Field::sequence_parallel] = one_of({0, 1}, random);
  c[Field::recompute] = one_of({0, 1, 2}, random);
  c[Field::micro_batch] = one_of({1, 2, 4}, random);
  c[Field::tensor] = one_of({1, 2, 4, 8}, random);
  c[Field::context] = one_of({1, 1, 1, 2}, random);
  c[Field::pipeline] = one_of({1, 2, 4, 8, 16}, random);
  c[Field::chunks] = one_of({1, 1, 2, 3, 6}, random);
  c[Field::data] = devices / (c[Field::tensor] * c[Field::context] * c[Field::pipeline]);
  c[Field::zero] = one_of({0, 1, 2, 3}, random);
  c[Field::overlap_parameters] = one_of({0, 0, 1}, random);
  c[Field::schedule] =
      one_of({schedule_index("1f1b"), schedule_index("gpipe"), schedule_index("interleaved"),
              schedule_index("breadth_first"), schedule_index("zb_h1"), schedule_index("naive")},
             random);
  c[Field::global_batch] = 32;
  return c;
}

bool legal(const Scenario& scenario) {
  Problems problems;
  check_scenario(scenario, static_cast<std::int64_t>(scenario.cluster.topology.devices.size()),
                 problems);
  return problems.empty();
}

void check_agrees(const std::string& strategy, unsigned seed, int wanted,
                  const std::string& model = R"("gpt3-175b")") {
  Estimator estimator(gpt3(strategy, model));
  std::mt19937 random(seed);
  int composed = 0;
  for (int tries = 0; composed < wanted && tries < 100'000; ++tries) {
    const Choice choice = random_choice(random, 32);
    if (choice[Field::data] < 1 || !legal(estimator.with(choice))) { continue; }
    const auto estimate = estimator.estimate(choice);
    REQUIRE(estimate);
    if (!estimate->composed) { continue; }
    ++composed;
    const Scenario& scenario = estimator.with(choice);
    const Simulation simulation = run_scenario(scenario);
    const Report report = summarise(scenario, simulation);
    std::string text;
    for (const FieldEntry& f : fields()) {
      text += std::string(f.name) + "=" + std::to_string(choice[f.field]) + " ";
    }
    CAPTURE(text);
    CHECK(simulation.closed_form.known);
    CHECK(estimate->step == doctest::Approx(simulation.closed_form.step.value).epsilon(1e-6));
    if (sends_in_programs(scenario.strategy)) {
      // Gradients wait for as long as they are under way, which is longer where replicas share
      // wires.
      CHECK(estimate->memory <= report.needed.value);
    } else {
      CHECK(estimate->memory == report.needed.value);
      CHECK(estimate->fits == report.fits);
    }
  }
  CHECK(composed == wanted);
}

TEST_CASE("a composed estimate is the closed form and the simulated memory of its scenario") {
  check_agrees(R"("layers": "balanced")", 1, 13);
  check_agrees(R"("layers": "even")", 2, 12);
}

TEST_CASE("estimates count frozen weights beside low-rank adapters") {
  const std::string model = R"({"base": "gpt3-175b", "lora": {"rank": 16)";
  check_agrees(R"("layers": "balanced")", 3, 8, model + "}}");
  check_agrees(R"("layers": "even")", 4, 8, model + R"(, "targets": ["attention.qkv"]}})");
}

}  // namespace
}  // namespace tsim::sim
