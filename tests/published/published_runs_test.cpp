// Published runs of whole clusters, predicted with the device files as they are: nothing is fitted
// to whole iterations.
#include <doctest/doctest.h>

#include "sim/input/read_scenario.hpp"
#include "sim/report/report.hpp"

using namespace tsim;

namespace {

sim::Report answer(const std::string& name) {
  const auto file = sim::read_scenario_file(std::string(TSIM_SOURCE_DIR) + "/scenarios/published/" +
                                            name + ".json");
  return summarise(file.base, run_scenario(file.base));
}

}  // namespace

TEST_CASE("BLOOM 176B on 384 A100: 104.7 s a step within 15 %") {
  // bigscience, tr11-176B-ml: 19.561 samples/s of 2048.
  const sim::Report r = answer("bloom_176b");
  CHECK(r.step.value == doctest::Approx(104.7).epsilon(0.15));
  CHECK(r.fits);
}
