#include "cost/fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cost/device.hpp"

using namespace tsim;
using cost::Measured;
using cost::Timed;

namespace {

/// Points of "layernorm" on 2^4..2^(4+side-1) squared whose ratio to the roofline is `ratio(x, y)`.
cost::Series grid(int side, double (*ratio)(double, double)) {
  cost::Device d;
  d.memory_bandwidth = {1e12};
  Measured measured;
  for (int i = 4; i < 4 + side; ++i) {
    for (int j = 4; j < 4 + side; ++j) {
      const cost::Subject subject{{cost::PointKind::layernorm, models::DType::bf16, 0},
                                  {std::int64_t{1} << i, std::int64_t{1} << j, 1, 1, 1}};
      cost::MeasuredPoint point;
      point.shape = subject.shape;
      point.median = ratio(i, j) * *smooth_time(subject, d);
      add_point(measured, subject.series, point);
    }
  }
  index_points(measured, d);
  return measured.series.front();
}

}  // namespace

TEST_CASE("a surface of degree two goes through points that lie on one") {
  const cost::Series series =
      grid(6, [](double x, double y) { return std::exp2(1 + 0.1 * x - 0.02 * x * y); });
  const auto surface = cost::fit_surface(series);
  REQUIRE(surface);
  CHECK(surface->residual < 1e-9);
  CHECK(surface->points == 36);
  // Between the points: x = y = log2 96.
  const double x = std::log2(96.0);
  CHECK(cost::ratio_at(*surface, {96, 96, 1, 1, 1}) ==
        doctest::Approx(std::exp2(1 + 0.1 * x - 0.02 * x * x)));
}

TEST_CASE("outside its box a surface keeps the value at the nearest side") {
  const cost::Series series = grid(6, [](double x, double) { return std::exp2(0.5 * x); });
  const auto surface = cost::fit_surface(series);
  REQUIRE(surface);
  // The box ends at 2^9 = 512.
  CHECK(cost::ratio_at(*surface, {1 << 20, 512, 1, 1, 1}) == doctest::Approx(std::exp2(4.5)));
}

TEST_CASE("too few points make no surface") {
  CHECK_FALSE(cost::fit_surface(grid(2, [](double, double) { return 2.0; })));
}

TEST_CASE("alpha and beta are found again") {
  std::vector<Timed> points;
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    points.push_back({bytes, 20e-6 + bytes / 100e9});
  }
  const auto links = cost::fit_links(points);
  REQUIRE(links.size() == 1);
  CHECK(links[0].alpha.value == doctest::Approx(20e-6));
  CHECK(links[0].rate.value == doctest::Approx(100e9));
  CHECK(links[0].residual < 1e-9);
}

TEST_CASE("two protocols are two regimes") {
  // Up to 64 KiB 5 us and 2 GB/s, above 30 us and 200 GB/s.
  std::vector<Timed> points;
  for (double bytes = 1024; bytes <= 65536; bytes *= 2) {
    points.push_back({bytes, 5e-6 + bytes / 2e9});
  }
  for (double bytes = 131072; bytes < 1e9; bytes *= 2) {
    points.push_back({bytes, 30e-6 + bytes / 200e9});
  }
  const auto links = cost::fit_links(points);
  REQUIRE(links.size() == 2);
  CHECK(links[0].most.value == 65536);
  CHECK(links[0].alpha.value == doctest::Approx(5e-6));
  CHECK(links[1].rate.value == doctest::Approx(200e9));
}

TEST_CASE("neither alpha nor beta is ever negative") {
  // Times that fall with the size: the best line without a slope is a constant.
  const std::vector<Timed> points{{1000, 4e-6}, {2000, 3e-6}, {4000, 2e-6}};
  for (const auto& link : cost::fit_links(points)) {
    CHECK(link.alpha.value >= 0);
    CHECK(link.rate.value > 0);
  }
}

TEST_CASE("left-out points on a plane are predicted from their neighbours") {
  const cost::Series flat = grid(5, [](double, double) { return 3.0; });
  for (const double error : cost::left_out_errors(flat)) { CHECK(error < 1e-9); }
  CHECK(cost::left_out_errors(flat).size() == 25);
}
