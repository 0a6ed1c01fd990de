#include "sim/jobs.hpp"

#include <doctest/doctest.h>

#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using doctest::Approx;

namespace {

/// Nodes of two devices with one NIC that both share.
cost::Cluster pairs(int nodes) {
  return cost::build_cluster(
      {.name = "pairs",
       .device = ideal_a100(),
       .nodes = nodes,
       .devices_per_node = 2,
       .node = {.bandwidth = 300_GBps, .latency = 2_us},
       .network = {.nics_per_node = 1, .bandwidth = 10_Gbps, .latency = 5_us}});
}

/// Two replicas that reduce their gradients when all else is done.
sim::Job replicas(std::vector<int> devices) {
  sim::Job job{sample("gpt3-1.3b", {1, 1, 2}, 2, 1), std::move(devices)};
  job.scenario.strategy.overlap_gradients = false;
  job.scenario.strategy.collective = "ring";
  job.scenario.strategy.bucket = 100_GiB;
  return job;
}

}  // namespace

// astra-sim issue 225: each gets half of the NIC while both reduce.
TEST_CASE("two equal jobs on one NIC take twice the communication time") {
  const sim::Job a = replicas({0, 2}), b = replicas({1, 3});
  const sim::JobsReport report = run_jobs(pairs(2), std::vector{a, b});
  // The all-reduce of two ranks: 2 alpha, and all gradients (4 bytes each) over the NIC once.
  const double parameters = static_cast<double>(models::parameters(a.scenario.model));
  const double transfer = 4 * parameters / (10e9 / 8);
  for (const sim::JobTimes& times : report.jobs) {
    CHECK(times.beside.value - times.alone.value == Approx(transfer).epsilon(1e-3));
  }
  REQUIRE(report.meetings.size() == 4);  // out of and into both nodes
  CHECK(report.meetings[0].channel.find("nic") != std::string::npos);
  CHECK(report.meetings[0].bytes[0] == Approx(4 * parameters).epsilon(1e-3));
  CHECK(report.meetings[0].bytes[0] == report.meetings[0].bytes[1]);
}

TEST_CASE("jobs on links of their own run as if alone") {
  const sim::JobsReport report =
      run_jobs(pairs(4), std::vector{replicas({0, 2}), replicas({5, 7})});
  for (const sim::JobTimes& times : report.jobs) {
    CHECK(times.beside.value == Approx(times.alone.value).epsilon(1e-9));
  }
  CHECK(report.meetings.empty());
}

TEST_CASE("a job takes as long on any part of a uniform cluster, and step by step") {
  const auto alone = [](std::vector<int> devices, strategies::Fidelity fidelity) {
    sim::Job job = replicas(std::move(devices));
    job.scenario.strategy.fidelity = fidelity;
    return run_jobs(pairs(4), std::vector{job}).jobs[0].beside.value;
  };
  const double first = alone({0, 2}, strategies::Fidelity::aggregated);
  CHECK(alone({7, 4}, strategies::Fidelity::aggregated) == Approx(first).epsilon(1e-12));
  CHECK(alone({7, 4}, strategies::Fidelity::steps) == Approx(first).epsilon(1e-9));
}
