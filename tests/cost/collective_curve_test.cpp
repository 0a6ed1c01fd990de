// Curves against the plans of single payloads.
#include "cost/collective_curve.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cost/tunings.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

/// Three nodes of four devices with NICs, under every library whose figures are known.
Bench bench(const Tuning& tuning) {
  NodeDesign node = nvswitch_design(4, {{{300e9}, {1e-6}}});
  for (int i = 0; i < 4; ++i) { node.nics.push_back({{}, {{25e9}, {2e-6}}, {i}}); }
  Cluster cluster = build_cluster(ClusterDesign{"test", {Device{}}, {{node, 3}}, Fabric{}});
  cluster.topology.tuning = tuning;
  return Bench(std::move(cluster));
}

/// The same, or none where the devices cannot run the algorithm.
std::optional<CollectiveCurve> curve_of(Bench& b, CollectiveOp op, std::string_view algorithm,
                                        const std::vector<int>& devices) {
  try {
    return collective_curve(op, algorithm, devices, b.router);
  } catch (const std::invalid_argument&) { return std::nullopt; }
}

void check_all_payloads(Bench& b, CollectiveOp op, std::string_view algorithm,
                        const std::vector<int>& devices) {
  const auto curve = curve_of(b, op, algorithm, devices);
  if (!curve) {
    CHECK_THROWS_AS(b.plan(op, algorithm, devices, 1_MB), std::invalid_argument);
    return;
  }
  CAPTURE(name_of(op));
  CAPTURE(algorithm);
  for (const Bytes payload : {1_B, 4_KiB, 333_KB, 7_MB, 1_GiB, 40_GiB}) {
    CAPTURE(payload.value);
    CHECK(time_at(*curve, payload).value ==
          Approx(b.seconds(op, algorithm, devices, payload)).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("a curve is the time of the plan of every payload, for every algorithm and library") {
  for (const Tuning& tuning : tunings()) {
    CAPTURE(tuning.name);
    Bench b = bench(tuning);
    for (int i = 0; i < kCollectiveOps; ++i) {
      const auto op = static_cast<CollectiveOp>(i);
      std::vector<std::string_view> algorithms = collective_algorithms(op);
      algorithms.emplace_back("auto");
      for (const std::string_view algorithm : algorithms) {
        check_all_payloads(b, op, algorithm, first_devices(4));
        check_all_payloads(b, op, algorithm, first_devices(12));
      }
    }
  }
}

TEST_CASE("one device alone takes no time, and an unknown algorithm is refused") {
  Bench b = bench({});
  const auto curve = collective_curve(CollectiveOp::all_reduce, "auto", first_devices(1), b.router);
  CHECK(time_at(curve, 1_GB).value == 0);
  CHECK_THROWS_AS(collective_curve(CollectiveOp::barrier, "ring", first_devices(4), b.router),
                  std::invalid_argument);
}
