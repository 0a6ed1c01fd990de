#include "sim/validate/outcome.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "sim/validate/run_rows.hpp"

using namespace tsim;
using namespace tsim::validate;

namespace {

const std::string kTwoStages =
    "{\"model\": \"gpt2\", \"workload\": {\"global_batch\": 8, \"micro_batch\": 1}, \"cluster\": "
    "{\"devices_per_node\": 4, \"device\": \"a100-sxm-80g\", \"node\": {\"kind\": \"nvswitch\", "
    "\"bandwidth\": \"300 GB/s\", \"latency\": \"2 us\"}}, \"strategy\": {\"pipeline\": 2, "
    "\"tensor\": 2}, \"precision\": {\"compute\": \"bf16\"}}";

Source source_with(const std::vector<std::string>& documents) {
  Source source;
  for (const std::string& document : documents) {
    Row row{.id = std::to_string(source.rows.size())};
    row.measured.figure = Figure::samples_per_second;
    row.measured.value = 80;
    row.choices.push_back({"", document});
    source.rows.push_back(row);
  }
  return source;
}

Outcome outcome_with(const Source& source) {
  return outcome_of(source.rows[0], source.rows[0].choices[0], source, {});
}

}  // namespace

TEST_CASE("a figure becomes a step: 8 samples at 80 a second take 0.1 s") {
  const Outcome outcome = outcome_with(source_with({kTwoStages}));
  REQUIRE(outcome.ran);
  CHECK(outcome.measured_low == doctest::Approx(0.1));
  CHECK(outcome.measured_high == doctest::Approx(0.1));
}

TEST_CASE("the breakdown's parts add up to the step") {
  const Outcome outcome = outcome_with(source_with({kTwoStages}));
  CHECK(std::accumulate(outcome.parts.begin(), outcome.parts.end(), 0.0) ==
        doctest::Approx(1.0).epsilon(1e-6));
  for (const double part : outcome.parts) { CHECK(part >= 0.0); }
  CHECK(outcome.parts[static_cast<std::size_t>(Part::tensor)] > 0.0);
  CHECK(outcome.parts[static_cast<std::size_t>(Part::context)] == 0.0);
}

TEST_CASE("memory is read of the fullest rank, or of the first stage where a source looked there") {
  // One micro-batch of 8: both stages keep it for six layers, and the tied embedding; the second
  // has the logits besides.
  std::string document = kTwoStages;
  document.replace(document.find("\"micro_batch\": 1"), 16, "\"micro_batch\": 8");
  Source source = source_with({document});
  const Outcome fullest = outcome_with(source);
  source.rows[0].measured.first_stage = true;
  const Outcome first = outcome_with(source);
  REQUIRE(first.ran);
  CHECK(first.memory > 0);
  CHECK(first.memory < fullest.memory);
}

TEST_CASE("a scenario that is none has not run and says what is wrong") {
  const Outcome outcome = outcome_with(source_with({"{\"model\": \"gpt2\"}"}));
  CHECK_FALSE(outcome.ran);
  CHECK(std::string(outcome.why.data()).find("/workload") != std::string::npos);
}

TEST_CASE("figures that count the recomputed forward follow the paper's formula") {
  // [arXiv:2104.04473, table 1], 1T: B 3072, s 2048, l 128, h 25600, V 51200 on 3,072 devices at
  // 163 TFLOP/s: 96 B s l h^2 = 5.0665e22, times (1 + 2048/153600 + 51200/52428800) = 1.01431,
  // over 5.00736e17: 102.63 s.
  sim::Scenario scenario;
  scenario.workload.global_batch = 3072;
  scenario.model.sequence = 2048;
  scenario.model.layers = 128;
  scenario.model.hidden = 25600;
  scenario.unpadded_vocab = 51200;
  CHECK(step_of({.figure = Figure::recomputed_flops}, 163e12, scenario, {3072, Flops{}}) ==
        doctest::Approx(102.63).epsilon(1e-4));
}

TEST_CASE("tokens and FLOP/s per device become steps") {
  sim::Scenario scenario;
  scenario.workload.global_batch = 16;
  scenario.model.sequence = 8192;
  const Counted counted{8, Flops{4e15}};
  // 16 x 8192 tokens at 8 x 4096 a second: 4 s; 4e15 FLOP at 8 x 250 TFLOP/s: 2 s.
  CHECK(step_of({.figure = Figure::tokens_per_second_per_device}, 4096, scenario, counted) == 4.0);
  CHECK(step_of({.figure = Figure::tokens_per_second}, 32768, scenario, counted) == 4.0);
  CHECK(step_of({.figure = Figure::model_flops}, 250e12, scenario, counted) == 2.0);
}

TEST_CASE("an outcome by formula is what the simulation's report says of the formula") {
  const Source source = source_with({kTwoStages});
  const Row& row = source.rows[0];
  const Outcome formula = outcome_of(row, row.choices[0], source, {}, Tier::closed_form);
  const Outcome events = outcome_with(source);
  REQUIRE(formula.ran);
  CHECK(formula.by_formula);
  CHECK_FALSE(events.by_formula);
  CHECK(formula.step == doctest::Approx(events.closed_form).epsilon(1e-9));
  CHECK(formula.measured_low == events.measured_low);
  CHECK(formula.memory == doctest::Approx(events.memory).epsilon(0.02));
}

TEST_CASE("of a row with several readings the nearest is simulated, the others are not") {
  // Twice the samples in the same measured rate: the smaller batch has the longer step per sample.
  std::string larger = kTwoStages;
  larger.replace(larger.find("\"global_batch\": 8"), 17, "\"global_batch\": 64");
  Source source = source_with({kTwoStages});
  Row& row = source.rows[0];
  row.choices.push_back({"64", larger});
  const double of_larger =
      outcome_of(row, row.choices[1], source, {}, Tier::closed_form).closed_form;
  row.measured.value = 64 / of_larger;  // samples a second
  const std::vector<Source> sources{source};
  const auto outcomes = run_in_tiers(items_of(sources), 2);
  CHECK(outcomes[0].by_formula);
  CHECK_FALSE(outcomes[1].by_formula);
  CHECK(outcomes[1].parts[static_cast<std::size_t>(Part::products)] > 0);
}

TEST_CASE("a row that needs what is not modelled is not run") {
  Source source = source_with({kTwoStages});
  source.rows[0].needs = "low-rank adapters";
  const Outcome outcome = outcome_with(source);
  CHECK_FALSE(outcome.ran);
  CHECK(std::string(outcome.why.data()) == "low-rank adapters");
}

TEST_CASE("outcomes do not depend on the number of processes") {
  const std::vector<Source> sources{
      source_with({kTwoStages, "{}", kTwoStages, "{\"model\": \"gpt2\"}"})};
  const std::vector<Item> items = items_of(sources);
  REQUIRE(items.size() == 4);
  const auto one = run_items(items, 1), three = run_items(items, 3);
  for (std::size_t i = 0; i < items.size(); ++i) {
    CHECK(one[i].ran == three[i].ran);
    CHECK(one[i].step == three[i].step);
    CHECK(one[i].parts == three[i].parts);
  }
}

TEST_CASE("a collective's row: bus bandwidth and time say the same") {
  // 8 ranks, 1 GB, all-reduce: 2 * 7/8 GB over the bus; at 175 GB/s 10 ms.
  Source source = source_with(
      {"{\"cluster\": \"dgx_a100_pod\", \"collective\": {\"op\": \"all_reduce\", \"ranks\": 8, "
       "\"size\": \"1 GB\"}}"});
  source.rows[0].collective = true;
  source.rows[0].measured.figure = Figure::bus_bandwidth;
  source.rows[0].measured.value = 175e9;
  const Outcome outcome = outcome_with(source);
  REQUIRE(outcome.ran);
  CHECK(outcome.measured_low == doctest::Approx(0.010));
}
