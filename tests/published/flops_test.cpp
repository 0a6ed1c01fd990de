// FLOP identities of published runs: step time, FLOP/s per device and utilisation agree.
#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// FLOPs of an iteration with every layer's forward run again:
/// 96 B s l h^2 (1 + s/6h + V/16lh).   [arXiv:2104.04473, eq. 3]
double flops_with_recompute(double batch, double s, double layers, double h, double v) {
  return 96 * batch * s * layers * h * h * (1 + s / (6 * h) + v / (16 * layers * h));
}

}  // namespace

TEST_CASE("executed FLOPs of a run with full recomputation are the published count") {
  sim::Scenario s = sample("gpt3-175b", {8, 8, 1}, 16, 1);
  s.model.vocab = 51200;  // a multiple of 128 x 8, as Megatron pads it
  s.strategy.recompute = strategies::Recompute::full;
  const sim::Report r = summarise(s, run_scenario(s));
  const double v = static_cast<double>(s.model.vocab);
  // Biases that the products' kernels add are executed, but not in the published count.
  CHECK(r.hardware_flops.value ==
        doctest::Approx(flops_with_recompute(16, 2048, 96, 12288, v)).epsilon(1e-5));
  // Without the recomputed forward: 72 B s l h^2 (1 + s/6h + V/12lh).
  const double model = 72.0 * 16 * 2048 * 96 * 12288.0 * 12288.0 *
                       (1 + 2048 / (6 * 12288.0) + v / (12 * 96 * 12288.0));
  CHECK(r.model_flops.value == doctest::Approx(model).epsilon(1e-9));
  CHECK(r.hfu / r.mfu == doctest::Approx(r.hardware_flops / r.model_flops).epsilon(1e-12));
}

TEST_CASE("BLOOM 176B: 104.7 s on 384 devices are 149.8 TFLOP/s with recomputation") {
  // bigscience tr11-176B: L 70, h 14336, s 2048, V 250880, 2048 samples.
  const double flops = flops_with_recompute(2048, 2048, 70, 14336, 250880);
  CHECK(flops / (384 * 104.7) / 1e12 == doctest::Approx(149.77).epsilon(0.001));
}

TEST_CASE("MT-NLG 530B: 60.1, 50.2 and 44.4 s are 126, 120 and 113 TFLOP/s with recomputation") {
  // [arXiv:2201.11990]: L 105, h 20480, s 2048, 1920 samples on 2240, 2800 and 3360 devices.
  const double flops = flops_with_recompute(1920, 2048, 105, 20480, 51200);
  CHECK(flops / (2240 * 60.1) / 1e12 == doctest::Approx(126).epsilon(0.01));
  CHECK(flops / (2800 * 50.2) / 1e12 == doctest::Approx(120).epsilon(0.01));
  CHECK(flops / (3360 * 44.4) / 1e12 == doctest::Approx(113).epsilon(0.01));
}

TEST_CASE("strong scaling of a deep pipeline follows m + p - 1") {
  // p = 35, one sample a micro-batch, 1920 samples: m = 240, 192, 160 for d = 8, 10, 12.
  // The pipeline alone gives 60.1, 49.6 and 42.6 s from the first figure.
  const auto step = [](int replicas) {
    sim::Scenario s = sample("megatron-529.6b", {8, 35, replicas}, 1920, 1);
    s.strategy.overlap_gradients = false;
    s.strategy.scatter_gather = true;
    return summarise(s, run_scenario(s)).step.value;
  };
  const double first = step(8);
  CHECK(step(10) / first == doctest::Approx(226.0 / 274).epsilon(0.02));
  CHECK(step(12) / first == doctest::Approx(194.0 / 274).epsilon(0.02));
}
