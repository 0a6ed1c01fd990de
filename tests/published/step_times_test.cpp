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

}  // namespace

TEST_CASE("Korthikanti et al., table 5: each step time within 10 %") {
  // [arXiv:2205.05198, table 5]: A100-80GB, s 2048; full recomputation, then selective with
  // sequence parallelism.
  const std::vector<std::string> full{"/compare=[]"};
  const std::vector<std::string> selective{"/compare=[]", "/strategy/recompute=selective",
                                           "/strategy/sequence_parallel=true"};
  const std::vector<std::string> gpt_22b{"/model=gpt-22b", "/cluster/nodes=1",
                                         "/strategy/pipeline=1", "/workload/global_batch=4",
                                         "/workload/micro_batch=4"};
  const std::vector<std::string> gpt_175b{"/strategy/schedule=interleaved", "/strategy/chunks=3"};
  const std::vector<std::string> gpt_1t{"/model=megatron-1t", "/cluster/nodes=64",
                                        "/strategy/pipeline=64", "/workload/global_batch=512"};
  const char* file = "gpt3_175b_a100.json";
  CHECK(predicted(file, with(full, gpt_22b)) == doctest::Approx(1.42).epsilon(0.10));
  CHECK(predicted(file, with(selective, gpt_22b)) == doctest::Approx(1.10).epsilon(0.10));
  CHECK(predicted(file, with(full, gpt_175b)) == doctest::Approx(18.13).epsilon(0.10));
  CHECK(predicted(file, with(selective, gpt_175b)) == doctest::Approx(13.75).epsilon(0.10));
  CHECK(predicted(file, with(full, gpt_1t)) == doctest::Approx(94.42).epsilon(0.10));
  CHECK(predicted(file, with(selective, gpt_1t)) == doctest::Approx(71.49).epsilon(0.10));
}

TEST_CASE("Megatron 1T on 3,072 devices within 10 %") {
  // [arXiv:2104.04473, table 1]: 163 TFLOP/s per device with the recomputed forward counted.
  const double flops = 96.0 * 3072 * 2048 * 128 * 25600.0 * 25600.0 *
                       (1 + 2048 / (6 * 25600.0) + 51200 / (16 * 128 * 25600.0));
  const double measured = flops / (3072 * 163e12);
  CHECK(measured == doctest::Approx(102.6).epsilon(0.001));
  CHECK(predicted("megatron_1t_3072.json", {}) == doctest::Approx(measured).epsilon(0.10));
}
