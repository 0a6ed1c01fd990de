#include "cost/measured.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cost/kernel_subject.hpp"
#include "cost/roofline.hpp"

using namespace tsim;
using namespace tsim::literals;
using cost::Device;
using cost::Measured;
using cost::MeasuredPoint;
using cost::Origin;
using models::Kernel;
using models::OpClass;
using models::OpKind;
using models::Pass;

namespace {

Device device() {
  Device d;
  d.memory_bandwidth = 1000_GBps;
  d.matrix_peaks = {{models::DType::bf16, 100_TFLOPs}};
  d.vector_peak = 10_TFLOPs;
  return d;
}

void add(Measured& measured, const std::string& line, double us, double cold_us = 0) {
  const auto subject = cost::subject_of(line);
  REQUIRE(subject);
  MeasuredPoint point;
  point.shape = subject->shape;
  point.median = Seconds{us * 1e-6};
  point.cold = Seconds{cold_us * 1e-6};
  add_point(measured, subject->series, point);
}

Device with_points(const std::vector<std::pair<std::string, double>>& points) {
  Device d = device();
  Measured measured;
  for (const auto& [line, us] : points) { add(measured, line, us); }
  index_points(measured, d);
  d.measured = std::make_shared<const Measured>(std::move(measured));
  return d;
}

/// A product of a forward: [m, k] x [n, k]^T.
Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kind = OpKind::matmul,
          .cls = OpClass::contraction,
          .dtype = models::DType::bf16,
          .flops = Flops{2.0 * static_cast<double>(m * n * k)},
          .bytes = (m * k + k * n + m * n) * Bytes{2},
          .batch = 1,
          .m = m,
          .n = n,
          .k = k};
}

/// 2 x 4096^3 / 100 TFLOP/s.
constexpr double kPeakTime4096 = 1374.389535e-6;

}  // namespace

TEST_CASE("a work line and its subject say the same") {
  for (const char* const line :
       {"gemm bf16 tn+ 4096 1024 512", "bmm fp16 nt 8 16 32 64",
        "attention bf16 bwd causal 64 2048 2048 128", "map bf16 dropout_bwd 1024",
        "layernorm fp32 bwd 16 32", "adam 7", "launch graph", "collective send_recv_both 2 1024",
        "overlap 1 2 3 4 5", "memcpy p2p 12", "grouped bf16 tn+ 8 16 32 64"}) {
    CAPTURE(line);
    const auto subject = cost::subject_of(line);
    REQUIRE(subject);
    CHECK(cost::line_of(*subject) == line);
  }
}

TEST_CASE("a text that is no work line has no subject") {
  for (const char* const line : {"", "gemm", "gemm bf16 nt 1 2", "gemm bf16 nt 1 2 0",
                                 "gemm bf17 nt 1 2 3", "gemm bf16 xx 1 2 3", "gemm bf16 nt 1 2 3 4",
                                 "gemm bf16 nt 1 2 -3", "gemm bf16 nt 1 2 3x", "sleep 3"}) {
    CAPTURE(line);
    CHECK_FALSE(cost::subject_of(line));
  }
}

TEST_CASE("counts may have binary suffixes") {
  const auto subject = cost::subject_of("memcpy p2p 2MiB");
  REQUIRE(subject);
  CHECK(cost::line_of(*subject) == "memcpy p2p 2097152");
  CHECK_FALSE(cost::subject_of("memcpy p2p 2MB"));
  CHECK_FALSE(cost::subject_of("memcpy p2p 99999999999GiB"));
}

TEST_CASE("a measured shape takes the measured time") {
  const Device d = with_points({{"gemm bf16 nt 4096 4096 4096", 2000}});
  const cost::KernelTime found = kernel_lookup(product(4096, 4096, 4096), d);
  CHECK(found.time.value == doctest::Approx(2000e-6));
  CHECK(found.origin == Origin::measured);
}

TEST_CASE("of warm and cold times the cold one counts") {
  Device d = device();
  Measured measured;
  add(measured, "gemm bf16 nt 4096 4096 4096", 2000, 2100);
  index_points(measured, d);
  d.measured = std::make_shared<const Measured>(measured);
  CHECK(kernel_time(product(4096, 4096, 4096), d).value == doctest::Approx(2100e-6));
}

TEST_CASE("between measured shapes the share of the peak is interpolated") {
  // Both neighbours take twice as long as the peak allows, and so does what lies between.
  const Device d = with_points({{"gemm bf16 nt 2048 4096 4096", kPeakTime4096 * 1e6},
                                {"gemm bf16 nt 8192 4096 4096", 4 * kPeakTime4096 * 1e6}});
  const cost::KernelTime found = kernel_lookup(product(4096, 4096, 4096), d);
  CHECK(found.time.value == doctest::Approx(2 * kPeakTime4096));
  CHECK(found.origin == Origin::interpolated);
}

TEST_CASE("nearer points count more, by the inverse square of the distance") {
  // log2 m: 12 against 11 and 14. Ratios 1 and 3 with weights 1 and 1/4: (1 + 3/4) / (5/4) = 1.4.
  const Device d = with_points({{"gemm bf16 nt 2048 4096 4096", 0.5 * kPeakTime4096 * 1e6},
                                {"gemm bf16 nt 16384 4096 4096", 12 * kPeakTime4096 * 1e6}});
  CHECK(kernel_time(product(4096, 4096, 4096), d).value == doctest::Approx(1.4 * kPeakTime4096));
}

TEST_CASE("far from every point, and without a surface, the roofline stands") {
  const Device d = with_points({{"gemm bf16 nt 64 64 64", 10}});
  const cost::KernelTime found = kernel_lookup(product(4096, 4096, 4096), d);
  CHECK(found.origin == Origin::roofline);
  CHECK(found.time.value == doctest::Approx(kPeakTime4096));
}

TEST_CASE("beyond its largest point an optimizer keeps its share of the bandwidth") {
  // 28 bytes of each of 10^6 parameters in 56 us: half of 1000 GB/s, and so for 64 times as many.
  const Device d = with_points({{"adam 1000000", 56}});
  const Kernel kernel{.kind = OpKind::optimizer,
                      .cls = OpClass::elementwise,
                      .bytes = Bytes{28 * 64'000'000LL},
                      .elements = 64'000'000};
  CHECK(kernel_time(kernel, d).value == doctest::Approx(64 * 56e-6));
  CHECK(kernel_lookup(kernel, d).origin == Origin::fitted);
}

TEST_CASE("transposes are series of their own") {
  const Device d = with_points({{"gemm bf16 nn 4096 4096 4096", 2000}});
  CHECK(kernel_lookup(product(4096, 4096, 4096), d).origin == Origin::roofline);
}

TEST_CASE("the gradient of a weight is looked up as dy^T x") {
  // The kernel of [in = 256, rows = 1024] x [1024, out = 512] is timed as 512 x 256 over 1024.
  Kernel kernel = product(256, 512, 1024);
  kernel.operands = models::Operands::tn;
  CHECK(cost::line_of(*cost::subject_of(kernel)) == "gemm bf16 tn 512 256 1024");
}

TEST_CASE("a product that adds to a sum takes its own points, else those of one that does not") {
  Kernel kernel = product(4096, 4096, 4096);
  kernel.operands = models::Operands::tn_sum;
  const Device own =
      with_points({{"gemm bf16 tn 4096 4096 4096", 2000}, {"gemm bf16 tn+ 4096 4096 4096", 2500}});
  CHECK(kernel_lookup(kernel, own).origin == Origin::measured);
  CHECK(kernel_time(kernel, own).value == doctest::Approx(2500e-6));
  // Twice as long as the roofline's product: the sum's bytes too.
  const Device other = with_points({{"gemm bf16 tn 4096 4096 4096", 2 * kPeakTime4096 * 1e6}});
  const cost::KernelTime found = kernel_lookup(kernel, other);
  CHECK(found.origin == Origin::interpolated);
  CHECK(found.time.value ==
        doctest::Approx(2 * (kPeakTime4096 + 6.0 * 4096 * 4096 / other.memory_bandwidth.value)));
}

TEST_CASE("groups of products are looked up by groups and the shape of one") {
  Kernel kernel = product(128, 256, 512);
  kernel.kind = OpKind::grouped_matmul;
  kernel.batch = 8;
  CHECK(cost::line_of(*cost::subject_of(kernel)) == "grouped bf16 nt 8 128 256 512");
  kernel.operands = models::Operands::tn_sum;
  CHECK(cost::line_of(*cost::subject_of(kernel)) == "grouped bf16 tn+ 8 256 128 512");
}

TEST_CASE("a time of a short run is not believed below what the device keeps up") {
  // Half of the peak for minutes: a point at 0.8 of the peak counts as twice the peak's time.
  Device d = with_points({{"gemm bf16 nt 4096 4096 4096", kPeakTime4096 * 1e6 / 0.8}});
  d.sustained = 0.5;
  const Kernel kernel = product(4096, 4096, 4096);
  CHECK(kernel_time(kernel, d).value == doctest::Approx(2 * kPeakTime4096));
  d.sustained = 0.9;
  CHECK(kernel_time(kernel, d).value == doctest::Approx(kPeakTime4096 / 0.8));
}

TEST_CASE("fp16 takes the points of bf16, as interpolated ones") {
  const Device d = with_points({{"gemm bf16 nt 4096 4096 4096", 2000}});
  Kernel kernel = product(4096, 4096, 4096);
  kernel.dtype = models::DType::fp16;
  const cost::KernelTime found = kernel_lookup(kernel, d);
  CHECK(found.origin == Origin::interpolated);
  CHECK(found.time.value == doctest::Approx(2000e-6));
}

TEST_CASE("an optimizer that moves other bytes takes the same share of the bandwidth") {
  // 28 bytes of each of 10^6 parameters in 56 us are half of 1000 GB/s; 42 bytes take 84 us.
  const Device d = with_points({{"adam 1000000", 56}});
  const Kernel kernel{.kind = OpKind::optimizer,
                      .cls = OpClass::elementwise,
                      .bytes = Bytes{42'000'000},
                      .elements = 1'000'000};
  CHECK(kernel_time(kernel, d).value == doctest::Approx(84e-6));
  CHECK(kernel_lookup(kernel, d).origin == Origin::fitted);
}

TEST_CASE("a fused attention is looked up by heads, queries, keys and width") {
  const Kernel kernel{.kind = OpKind::flash_attention,
                      .cls = OpClass::contraction,
                      .dtype = models::DType::bf16,
                      .flops = Flops{1e9},
                      .batch = 64,
                      .m = 2048,
                      .n = 2048,
                      .k = 128,
                      .pass = Pass::backward,
                      .causal = true};
  CHECK(cost::line_of(*cost::subject_of(kernel)) == "attention bf16 bwd causal 64 2048 2048 128");
}

TEST_CASE("of two points with one shape the first stands") {
  Measured measured;
  add(measured, "adam 64", 1);
  add(measured, "adam 64", 2);
  REQUIRE(measured.series.size() == 1);
  REQUIRE(measured.series.front().points.size() == 1);
  CHECK(measured.series.front().points.front().median.value == doctest::Approx(1e-6));
}

TEST_CASE("the nearest points are found among many") {
  // A grid of ratios 1 + log2 m: the four nearest of m = 2^7.5 are m = 2^7 and 2^8 of n = 2^10,
  // 2^11.
  Device d = device();
  Measured measured;
  for (int i = 4; i < 14; ++i) {
    for (int j = 4; j < 14; ++j) {
      const cost::Subject subject{{cost::PointKind::layernorm, models::DType::bf16, 0},
                                  {std::int64_t{1} << i, std::int64_t{1} << j, 1, 1, 1}};
      MeasuredPoint point;
      point.shape = subject.shape;
      point.median = (1.0 + i) * *smooth_time(subject, d);
      add_point(measured, subject.series, point);
    }
  }
  index_points(measured, d);
  const cost::Counts between{181, 1448, 1, 1, 1};  // 2^7.5, 2^10.5
  const auto found = find_ratio(measured.series.front(), between);
  REQUIRE(found);
  CHECK(found->ratio == doctest::Approx(8.5).epsilon(0.001));
}
