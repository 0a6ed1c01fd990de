#include "sim/calibrate/measured_tuning.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "cost/collectives.hpp"
#include "cost/fit.hpp"
#include "sim/input/read_cluster.hpp"

using namespace tsim;

namespace {

constexpr std::array<std::int64_t, 6> kSizes{1 << 10, 1 << 14, 1 << 18, 1 << 24, 1 << 27, 1 << 30};

/// Two ranks of an NVSwitch node: 12 us at least, else 10 us and 200 GB/s of payload.
double law(std::int64_t bytes) {
  return std::max(12e-6, 10e-6 + static_cast<double>(bytes) / 200e9);
}

cost::Measured measured() {
  cost::Measured points;
  for (const std::int64_t bytes : kSizes) {
    const auto subject = cost::subject_of("collective all_gather 2 " + std::to_string(bytes));
    add_point(points, subject->series, {.shape = subject->shape, .median = Seconds{law(bytes)}});
  }
  return points;
}

}  // namespace

TEST_CASE("a floor and a line are found again from points on them") {
  std::vector<cost::Timed> points;
  points.reserve(kSizes.size());
  for (const std::int64_t bytes : kSizes) {
    points.push_back({static_cast<double>(bytes), law(bytes)});
  }
  const cost::FloorLine line = cost::fit_floor(points);
  CHECK(line.floor == doctest::Approx(12e-6));
  CHECK(line.alpha == doctest::Approx(10e-6));
  CHECK(line.per_byte == doctest::Approx(1 / 200e9));
  CHECK(line.residual < 1e-9);
}

TEST_CASE("a cluster tuned by measured collectives plans them as they were measured") {
  cost::Cluster cluster = sim::read_cluster("dgx_h100_pod");
  const calibrate::MeasuredTuning tuning = calibrate::measured_tuning(measured(), cluster);
  CHECK(tuning.ranks == 2);
  cluster.topology.tuning = tuning.tuning("measured", "");
  cost::Router router(cluster.topology);
  const std::array devices{0, 1};
  for (const std::int64_t bytes : kSizes) {
    const auto plan =
        plan_collective(cost::CollectiveOp::all_gather, "auto", devices, Bytes{bytes}, router);
    CHECK(time_alone(plan, cluster.topology, router).value ==
          doctest::Approx(law(bytes)).epsilon(1e-3));
  }
}

TEST_CASE("collectives faster than the wires are left out and named") {
  cost::Measured points;
  for (const std::int64_t bytes : kSizes) {
    const auto subject = cost::subject_of("collective all_gather 2 " + std::to_string(bytes));
    add_point(
        points, subject->series,
        {.shape = subject->shape, .median = Seconds{10e-6 + static_cast<double>(bytes) / 50e12}});
  }
  const auto tuning = calibrate::measured_tuning(points, sim::read_cluster("dgx_h100_pod"));
  CHECK(tuning.regimes.empty());
  CHECK(tuning.remarks ==
        std::vector<std::string>{"all_gather: measured faster than the cluster's wires are"});
}

TEST_CASE("without collectives there is no tuning") {
  CHECK(calibrate::measured_tuning({}, sim::read_cluster("dgx_h100_pod")).regimes.empty());
}
