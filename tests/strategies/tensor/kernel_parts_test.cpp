#include "strategies/tensor/kernel_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/program.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::strategies;
using cost::CollectiveOp;

namespace {

constexpr RankGroup kGroup{GroupAxis::tensor, 8, 1};

/// [4096, 1024] x [1024, 2048] of 2 bytes: 8 MiB and 4 MiB read, 16 MiB written.
models::Kernel product() {
  models::Kernel kernel;
  kernel.kind = models::OpKind::matmul;
  kernel.cls = models::OpClass::contraction;
  kernel.m = 4096;
  kernel.k = 1024;
  kernel.n = 2048;
  kernel.batch = 1;
  kernel.flops = Flops{2.0 * 4096 * 1024 * 2048};
  kernel.bytes = 28_MiB;
  return kernel;
}

/// 1 TFLOP/s, memory never limits, tiles fit any size.
cost::Device device() {
  cost::Device d;
  d.memory_bandwidth = 1'000'000_GBps;
  d.matrix_peaks = {{models::DType::fp16, 1_TFLOPs}};
  d.vector_peak = 1_TFLOPs;
  d.gemm = {.ceiling = 1.0, .tile_m = 1, .tile_n = 1, .units = 1, .half_k = 0};
  return d;
}

Communication comm(CollectiveOp op, Bytes size) { return {op, kGroup, Stream::tp, size}; }

/// End of a program whose communications take `comm_time` each and share one stream.
double end_of(const Program& program, double comm_time) {
  std::vector<double> end(program.steps.size());
  double stream = 0;
  double compute = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    double& last = step.is_comm ? stream : compute;
    double start = last;
    for (const int before : step.after) {
      start = std::max(start, end[static_cast<std::size_t>(before)]);
    }
    last = end[i] = start + (step.is_comm ? comm_time : step.duration.value);
  }
  double total = 0;
  for (const int exit : program.exits) {
    total = std::max(total, end[static_cast<std::size_t>(exit)]);
  }
  return total;
}

double time_of(const KernelParts& parts, double comm_time) {
  const auto pieces = pieces_of(parts, {.phase = Phase::forward}, device());
  return end_of(make_program(pieces, {}), comm_time);
}

}  // namespace

TEST_CASE("chunks of a product add up to it, each reading the whole weight") {
  const KernelComms comms{.before = {comm(CollectiveOp::all_gather, 8_MiB)}, .after = {}};
  const KernelParts parts = kernel_parts(product(), comms, {4, 4_MiB});
  REQUIRE(parts.kernels.size() == 4);
  double flops = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    flops += parts.kernels[i].flops.value;
    CHECK(parts.kernels[i].m == 1024);
    // A quarter of 24 MiB, and the weight's 4 MiB.
    CHECK(parts.kernels[i].bytes == 10_MiB);
    CHECK(parts.before[i].front().size == 2_MiB);
  }
  CHECK(flops == doctest::Approx(product().flops.value).epsilon(1e-12));
}

TEST_CASE("gathers hide behind products: c + (n - 1) max(c, g) + g") {
  // The product takes 2 x 4096 x 1024 x 2048 / 1e12 = 17.18 ms; g = a quarter of it.
  const double g = 2.0 * 4096 * 1024 * 2048 / 1e12 / 4;
  const KernelComms comms{.before = {comm(CollectiveOp::all_gather, 8_MiB)}, .after = {}};
  const KernelParts parts = kernel_parts(product(), comms, {4, 4_MiB});
  for (const double c : {g / 2, 2 * g}) {
    CHECK(time_of(parts, c) == doctest::Approx(c + 3 * std::max(c, g) + g).epsilon(1e-9));
  }
}

TEST_CASE("sums hide behind the products that follow: g + (n - 1) max(c, g) + c") {
  const double g = 2.0 * 4096 * 1024 * 2048 / 1e12 / 4;
  const KernelComms comms{.before = {}, .after = {comm(CollectiveOp::reduce_scatter, 16_MiB)}};
  const KernelParts parts = kernel_parts(product(), comms, {4, 4_MiB});
  for (const double c : {g / 2, 2 * g}) {
    CHECK(time_of(parts, c) == doctest::Approx(g + 3 * std::max(c, g) + c).epsilon(1e-9));
  }
}

TEST_CASE("a product without communication, and any other kernel, stays whole") {
  CHECK(kernel_parts(product(), {}, {4, 4_MiB}).kernels.size() == 1);
  models::Kernel norm;
  norm.kind = models::OpKind::layer_norm;
  norm.m = 4096;
  const KernelComms comms{.before = {comm(CollectiveOp::all_gather, 8_MiB)}, .after = {}};
  const KernelParts parts = kernel_parts(norm, comms, {4, {}});
  CHECK(parts.kernels.size() == 1);
  CHECK(parts.first == comms.before);
}

TEST_CASE("rows that do not divide are spread evenly and none is lost") {
  models::Kernel odd = product();
  odd.m = 10;
  const KernelComms comms{.before = {comm(CollectiveOp::all_gather, 10_B)}, .after = {}};
  const KernelParts parts = kernel_parts(odd, comms, {4, {}});
  std::int64_t rows = 0;
  Bytes bytes;
  for (std::size_t i = 0; i < 4; ++i) {
    rows += parts.kernels[i].m;
    bytes += parts.before[i].front().size;
  }
  CHECK(rows == 10);
  CHECK(bytes == 10_B);
}

TEST_CASE("SUMMA waits for its first panels only: c + (q - 1) max(c, g) + g") {
  // One broadcast a panel, the product in q = 4 panels.
  const double g = 2.0 * 4096 * 1024 * 2048 / 1e12 / 4;
  const PanelledProduct summa{
      .op = 0,
      .panels = 4,
      .before = {{0, CollectiveOp::broadcast, {.stride = 1, .size = 4}, 2_MiB}},
      .after = {}};
  const KernelParts parts =
      kernel_parts(product(), {.before = {}, .after = {}, .panels = &summa}, {});
  CHECK(parts.kernels.front().k == 256);
  for (const double c : {g / 2, 2 * g}) {
    CHECK(time_of(parts, c) == doctest::Approx(c + 3 * std::max(c, g) + g).epsilon(1e-9));
  }
}
