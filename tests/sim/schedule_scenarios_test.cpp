// Whole models under every schedule: what must hold of any answer.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/input/read_scenario.hpp"
#include "sim/report/report.hpp"
#include "strategies/schedule.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::MemoryClass;

namespace {

/// Four stages of six layers; 16 micro-batches a replica.
sim::Scenario with_schedule(const strategies::Schedule& schedule, Degrees degrees) {
  sim::Scenario s = sample("gpt3-1.3b", degrees, 16L * degrees.data, 1);
  s.strategy.schedule = schedule.name;
  s.strategy.chunks = schedule.chunks > 0 ? schedule.chunks : 2;
  return s;
}

Bytes held(const sim::StageReport& stage, MemoryClass c) {
  return stage.peak[static_cast<std::size_t>(c)];
}

}  // namespace

TEST_CASE("no schedule changes what is computed") {
  const double expected = answer(sample("gpt3-1.3b", {1, 4, 1}, 16, 1)).model_flops.value;
  for (const strategies::Schedule& schedule : strategies::schedules()) {
    const sim::Report r = answer(with_schedule(schedule, {1, 4, 1}));
    CAPTURE(schedule.name);
    CHECK(r.model_flops.value == doctest::Approx(expected).epsilon(1e-12));
    CHECK(r.busy_fraction + r.exposed_fraction + r.bubble_fraction ==
          doctest::Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("folding symmetric ranks changes no figure under any schedule") {
  for (const strategies::Schedule& schedule : strategies::schedules()) {
    sim::Scenario s = with_schedule(schedule, {2, 4, 2});
    const sim::Report folded = answer(s);
    s.fold = sim::Fold::none;
    const sim::Report all = answer(s);
    CAPTURE(schedule.name);
    CHECK(folded.simulated_ranks == 4);
    CHECK(all.simulated_ranks == 16);
    CHECK(folded.step.value == doctest::Approx(all.step.value).epsilon(1e-9));
    CHECK(folded.needed == all.needed);
    CHECK(folded.bubble_fraction == doctest::Approx(all.bubble_fraction).epsilon(1e-9));
  }
}

TEST_CASE("two copies of the model double a rank's states, which ZeRO shards over both") {
  // 1.3 B parameters in four stages of 1/4, or two parts of 1/4 each.
  const sim::Report one = answer(sample("gpt3-1.3b", {1, 4, 2}, 32, 1));
  sim::Scenario twice = with_schedule(*strategies::schedule_named("chimera"), {1, 4, 2});
  const sim::Report two = answer(twice);
  // Inner stages hold layers alone.
  CHECK(held(two.stages[1], MemoryClass::parameters) ==
        2 * held(one.stages[1], MemoryClass::parameters));
  CHECK(held(two.stages[1], MemoryClass::optimizer) ==
        2 * held(one.stages[1], MemoryClass::optimizer));
  twice.strategy.zero.stage = 1;
  // Over 2 replicas x 2 holders.
  CHECK(held(answer(twice).stages[1], MemoryClass::optimizer).value * 4 ==
        held(two.stages[1], MemoryClass::optimizer).value);
}

TEST_CASE("blocking messages never make a step shorter") {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    sim::Scenario s = sample("gpt3-1.3b", {1, 4, 1}, 16, 1);
    s.strategy.schedule = schedule;
    const double async = answer(s).step.value;
    s.strategy.batched_p2p = true;
    CHECK(answer(s).step.value >= async * (1 - 1e-12));
  }
}

TEST_CASE("every scenario of a schedule runs, with its variants, and fits") {
  int files = 0;
  const std::filesystem::path folder = std::string(TSIM_SOURCE_DIR) + "/scenarios/schedules";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") { continue; }
    ++files;
    CAPTURE(entry.path().string());
    const sim::ScenarioFile file = sim::read_scenario_file(entry.path());
    std::vector<sim::Report> reports{answer(file.base)};
    for (const auto& variant : file.variants) { reports.push_back(answer(variant.scenario)); }
    for (const sim::Report& r : reports) {
      CHECK(r.fits);
      CHECK(r.step.value > 0);
    }
  }
  CHECK(files >= 15);
}
