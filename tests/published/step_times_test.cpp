// Measured step times, predicted with the device and cluster files as they are: nothing is fitted
// to whole iterations. The bands are what the README promises.
#include <doctest/doctest.h>

#include "sim/input/read_scenario.hpp"
#include "sim/report/report.hpp"

using namespace tsim;

namespace {

double predicted(const std::string& scenario, const std::vector<std::string>& overrides) {
  const auto file =
      sim::read_scenario_file(std::string(TSIM_SOURCE_DIR) + "/scenarios/" + scenario, overrides);
  return summarise(file.base, run_scenario(file.base)).step.value;
}

std::vector<std::string> with(std::vector<std::string> overrides,
                              const std::vector<std::string>& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// A row of Korthikanti et al., table 5 [arXiv:2205.05198]: A100-80GB, s 2048; full recomputation,
/// then selective with sequence parallelism.
void check_row(const std::vector<std::string>& setting, double full, double selective) {
  const char* file = "gpt3_175b_a100.json";
  CHECK(predicted(file, with(setting, {"/compare=[]"})) == doctest::Approx(full).epsilon(0.10));
  CHECK(predicted(file, with(setting, {"/compare=[]", "/strategy/recompute=selective",
                                       "/strategy/sequence_parallel=true"})) ==
        doctest::Approx(selective).epsilon(0.10));
}

}  // namespace

TEST_CASE("Korthikanti et al., table 5, 22B: step times within 10 %") {
  check_row({"/model=gpt-22b", "/cluster/nodes=1", "/strategy/pipeline=1",
             "/workload/global_batch=4", "/workload/micro_batch=4"},
            1.42, 1.10);
}

TEST_CASE("Korthikanti et al., table 5, 175B: step times within 10 %") {
  check_row({"/strategy/schedule=interleaved", "/strategy/chunks=3"}, 18.13, 13.75);
}

TEST_CASE("Korthikanti et al., table 5, 1T: step times within 10 %") {
  check_row({"/model=megatron-1t", "/cluster/nodes=64", "/strategy/pipeline=64",
             "/workload/global_batch=512"},
            94.42, 71.49);
}

TEST_CASE("Megatron 1T on 3,072 devices within 10 %") {
  // [arXiv:2104.04473, table 1]: 163 TFLOP/s per device with the recomputed forward counted.
  const double flops = 96.0 * 3072 * 2048 * 128 * 25600.0 * 25600.0 *
                       (1 + 2048 / (6 * 25600.0) + 51200 / (16 * 128 * 25600.0));
  const double measured = flops / (3072 * 163e12);
  CHECK(measured == doctest::Approx(102.6).epsilon(0.001));
  CHECK(predicted("megatron_1t_3072.json", {}) == doctest::Approx(measured).epsilon(0.10));
}
