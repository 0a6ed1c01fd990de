// The event tier of a search against the documents of its points.
#include <doctest/doctest.h>

#include "sim/sweep/run_sweep.hpp"
#include "sim/sweep/space.hpp"

namespace tsim::sim {
namespace {

SweepSpec small_spec() {
  Json spec;
  spec["scenario"] = {{"model", "gpt2"},
                      {"workload", {{"global_batch", 16}, {"micro_batch", 1}, {"sequence", 256}}},
                      {"cluster", {{"base", "a100_selene"}, {"nodes", 2}}},
                      {"strategy", Json::object()},
                      {"precision", {{"compute", "fp16"}, {"gradient", "fp32"}}}};
  spec["vary"] = {{"/cluster/network/bandwidth", {"100 Gb/s", "200 Gb/s"}},
                  {"/strategy/tensor", {2, 4}},
                  {"/strategy/pipeline", {1, 2, 4}},
                  {"/strategy/data", "rest"},
                  {"/strategy/chunks", {1, 3}},
                  {"/strategy/schedule", {"1f1b", "interleaved"}},
                  {"/strategy/recompute", {"none", "full"}},
                  {"/strategy/zero", {0, 3}}};
  spec["search"] = "grid";
  spec["top"] = 30;
  spec["events"] = 30;
  return read_spec(spec, "test.json");
}

TEST_CASE("a search simulates a point as its document is simulated") {
  const SweepSpec spec = small_spec();
  const Space space(spec);
  const SweepReport report =
      run_sweep(spec, {.jobs = 1, .database = {}, .version = "1", .progress = {}});
  int settings_seen = 0;
  int compared = 0;
  for (const Judged& judged : report.answers) {
    if (!judged.simulated) { continue; }
    REQUIRE(judged.events.failure.empty());
    const Simulated alone = simulate_answer(spec, space, judged.answer.point, judged.answer.choice);
    CHECK(judged.events.step == alone.step);
    CHECK(judged.events.memory == alone.memory);
    CHECK(judged.events.fits == alone.fits);
    settings_seen |= 1 << (judged.answer.point / space.setting_size());
    ++compared;
  }
  CHECK(compared == 30);
  CHECK(settings_seen == 3);  // both networks
}

}  // namespace
}  // namespace tsim::sim
