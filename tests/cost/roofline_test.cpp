#include "cost/roofline.hpp"

#include <doctest/doctest.h>

using namespace tsim;
using namespace tsim::literals;
using cost::Device;
using cost::GemmEfficiency;
using models::DType;
using models::Kernel;
using models::OpClass;
using models::OpKind;

namespace {

Device device() {
  Device d;
  d.memory_bandwidth = 1000_GBps;
  d.matrix_peaks = {{DType::fp16, 100_TFLOPs}};
  d.vector_peak = 10_TFLOPs;
  d.launch = 3_us;
  d.host_launch = 10_us;
  d.elementwise_bandwidth = 0.5;
  d.normalization_bandwidth = 0.25;
  return d;
}

Kernel product(std::int64_t n, DType dtype = DType::fp16) {
  const double size = static_cast<double>(n);
  return {.kind = OpKind::matmul,
          .cls = OpClass::contraction,
          .dtype = dtype,
          .flops = Flops{2 * size * size * size},
          .bytes = 3 * n * n * Bytes{2},
          .batch = 1,
          .m = n,
          .n = n,
          .k = n};
}

Kernel moving(OpClass cls, Bytes bytes) { return {.cls = cls, .bytes = bytes}; }

}  // namespace

TEST_CASE("a large product is bound by arithmetic, a small one by memory") {
  // n = 4096: 2 n^3 / 100 TFLOP/s = 1374.39 us against 6 n^2 / 1000 GB/s = 100.7 us.
  CHECK(kernel_time(product(4096), device()).value ==
        doctest::Approx(1374.39e-6 + 3e-6).epsilon(1e-5));
  // n = 64: 5.2 ns against 24.6 ns.
  CHECK(kernel_time(product(64), device()).value ==
        doctest::Approx(24.576e-9 + 3e-6).epsilon(1e-9));
}

TEST_CASE("an optimizer's step has a share of the bandwidth of its own, or that of element-wise") {
  // 1 GB at 0.5 and at 0.8 of 1000 GB/s.
  Kernel step = moving(OpClass::elementwise, Bytes{1'000'000'000});
  step.kind = OpKind::optimizer;
  Device d = device();
  CHECK(kernel_time(step, d).value == doctest::Approx(2e-3 + 3e-6).epsilon(1e-9));
  d.optimizer_bandwidth = 0.8;
  CHECK(kernel_time(step, d).value == doctest::Approx(1.25e-3 + 3e-6).epsilon(1e-9));
}

TEST_CASE("a host that issues the backward faster bounds that less") {
  // 3 forward kernels of 10 us, 2 of the backward of 4 us: 38 us; the device needs 5 x 3 us.
  std::vector<Kernel> kernels(5, moving(OpClass::elementwise, Bytes{0}));
  kernels[3].pass = models::Pass::backward;
  kernels[4].pass = models::Pass::weight_gradient;
  Device d = device();
  CHECK(run_time(kernels, d).value == doctest::Approx(50e-6).epsilon(1e-9));
  d.host_backward = 0.4;
  CHECK(run_time(kernels, d).value == doctest::Approx(38e-6).epsilon(1e-9));
}

TEST_CASE("what adding to a sum moves comes on top of a product bound by arithmetic") {
  // n = 4096: 1374.39 us of arithmetic, then 8 - 2 bytes of each result at 1000 GB/s: 100.66 us.
  Kernel kernel = product(4096);
  kernel.operands = models::Operands::tn_sum;
  kernel.bytes = (4 + 8) * 4096 * 4096 * Bytes{1};
  CHECK(kernel_time(kernel, device()).value ==
        doctest::Approx(1374.39e-6 + 100.663e-6 + 3e-6).epsilon(1e-5));
}

TEST_CASE("element-wise kernels and normalisations reach their own share of the bandwidth") {
  CHECK(kernel_time(moving(OpClass::elementwise, 1_MB), device()).value ==
        doctest::Approx(2e-6 + 3e-6));
  CHECK(kernel_time(moving(OpClass::normalization, 1_MB), device()).value ==
        doctest::Approx(4e-6 + 3e-6));
}

TEST_CASE("many small kernels take as long as the host needs to launch them") {
  const std::vector<Kernel> kernels(100, moving(OpClass::elementwise, 1_KB));
  CHECK(run_time(kernels, device()).value == doctest::Approx(100 * 10e-6));
  const std::vector<Kernel> large(100, moving(OpClass::elementwise, 100_MB));
  CHECK(run_time(large, device()).value == doctest::Approx(100 * (200e-6 + 3e-6)));
}

TEST_CASE("a format without a peak is computed in the next wider one") {
  // bf16 at the fp16 rate; fp32 on the vector units, a tenth as fast.
  CHECK(kernel_time(product(4096, DType::bf16), device()) == kernel_time(product(4096), device()));
  const Seconds launch = 3_us;
  CHECK((kernel_time(product(4096, DType::fp32), device()) - launch).value ==
        doctest::Approx(10 * (kernel_time(product(4096), device()) - launch).value));
}

TEST_CASE("half-filled tiles, waves and short sums cost what they leave idle") {
  const GemmEfficiency whole{.ceiling = 0.8, .tile_m = 128, .tile_n = 128, .units = 4, .half_k = 0};
  CHECK(gemm_efficiency(whole, 1, 256, 256, 64) == doctest::Approx(0.8));  // 4 tiles, 4 units
  CHECK(gemm_efficiency(whole, 1, 192, 256, 64) ==
        doctest::Approx(0.8 * 0.75));                                            // tile 2 half full
  CHECK(gemm_efficiency(whole, 1, 128, 256, 64) == doctest::Approx(0.8 * 0.5));  // 2 of 4 units
  CHECK(gemm_efficiency(whole, 5, 128, 128, 64) == doctest::Approx(0.8 * 5 / 8));  // a fifth tile
  GemmEfficiency ramp = whole;
  ramp.half_k = 64;
  CHECK(gemm_efficiency(ramp, 1, 256, 256, 64) == doctest::Approx(0.4));
  CHECK(gemm_efficiency(ramp, 1, 256, 256, 192) == doctest::Approx(0.6));
}

TEST_CASE("a library takes a smaller tile where the largest would leave units idle") {
  // [128, 128] on 4 units: one tile of 128 x 128 keeps one of them busy. Four of 64 x 64 keep all,
  // at I / (I + 32) of 32 / 64 against 64 / 96: 3/4 of the rate.
  GemmEfficiency e{.ceiling = 0.8, .tile_m = 128, .tile_n = 128, .units = 4, .half_k = 0};
  CHECK(gemm_efficiency(e, 1, 128, 128, 64) == doctest::Approx(0.8 / 4));
  e.half_intensity = 32;
  CHECK(gemm_efficiency(e, 1, 128, 128, 64) == doctest::Approx(0.8 * 3 / 4));
  // Where the largest fills everything, it stays.
  CHECK(gemm_efficiency(e, 1, 256, 256, 64) == doctest::Approx(0.8));
}

TEST_CASE("no product exceeds the ceiling") {
  const GemmEfficiency e{.ceiling = 0.9, .tile_m = 128, .tile_n = 256, .units = 108, .half_k = 100};
  for (const std::int64_t m : {1, 17, 128, 1000, 4096}) {
    for (const std::int64_t n : {1, 255, 257, 12288}) {
      for (const std::int64_t k : {1, 64, 12288}) {
        const double share = gemm_efficiency(e, 1, m, n, k);
        CHECK(share > 0);
        CHECK(share <= 0.9);
      }
    }
  }
}

TEST_CASE("groups of whole tiles take the time of one product of all their rows") {
  Device d = device();
  d.gemm = {.tile_m = 128, .tile_n = 256, .units = 132};
  Kernel whole = product(4096);
  Kernel groups = whole;
  groups.kind = OpKind::grouped_matmul;
  groups.batch = 8;
  groups.m = 512;
  CHECK(kernel_time(groups, d).value == doctest::Approx(kernel_time(whole, d).value));
  // 16 rows fill an eighth of a tile of 128.
  groups.m = 16;
  groups.bytes = Bytes{0};
  groups.flops = Flops{2.0 * 8 * 16 * 4096 * 4096};
  Kernel tiles = groups;
  tiles.m = 128;
  tiles.flops = 8 * groups.flops;
  CHECK(kernel_time(groups, d).value == doctest::Approx(kernel_time(tiles, d).value));
}

TEST_CASE("attention of heads whose width is no multiple of 8 runs on the vector units") {
  // 64 products of [2048, d] x [d, 2048]: 2 x 64 x 2048^2 d = 5.3687e8 d FLOP at 10 TFLOP/s with
  // d = 108 (5798.2 us), at 100 TFLOP/s with d = 112 (601.3 us).
  const auto scores = [](std::int64_t width, DType dtype) {
    Kernel k = product(2048, dtype);
    k.kind = OpKind::attention_matmul;
    k.flops = Flops{2.0 * 64 * 2048 * 2048 * static_cast<double>(width)};
    k.bytes = Bytes{0};
    k.batch = 64;
    k.k = width;
    return k;
  };
  CHECK(kernel_time(scores(108, DType::fp16), device()).value ==
        doctest::Approx(5798.2e-6 + 3e-6).epsilon(1e-4));
  CHECK(kernel_time(scores(112, DType::fp16), device()).value ==
        doctest::Approx(601.3e-6 + 3e-6).epsilon(1e-4));
}
