#include "sim/input/import/import_taccl.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cost/topology.hpp"
#include "tests/sim/input/inputs.hpp"

namespace tsim::sim {
namespace {

cost::Cluster cluster_of(const std::string& topology, const std::string& sketch = "") {
  Problems problems;
  const ImportedCluster imported = import_taccl({topology, sketch, "sketch.json"}, {}, problems);
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  return std::get<cost::Cluster>(imported.cluster);
}

Texts problems_of(const std::string& topology, const std::string& sketch = "") {
  Problems problems;
  import_taccl({topology, sketch, "sketch.json"}, {}, problems);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

/// [github.com/microsoft/taccl, taccl/examples]
const std::string kNdv2 = R"({"name": "NDv2_1MB", "gpus_per_node": 8, "nics_per_node": 1,
  "alpha": 0.3, "node_betas_list": [23, 46], "node_invbws_list": [23, 46],
  "remote_invbw": 107, "remote_alpha": 2.6, "remote_beta": 105})";
const std::string kRelay = R"({"nnodes": 2, "intranode_sketch": {"strategy": "none"},
  "internode_sketch": {"strategy": "relay", "internode_conn": {"0": [1]}},
  "symmetry_offsets": [[8, 16]], "hyperparameters": {"input_chunkup": 1}})";

double slowest(const cost::Cluster& cluster, const cost::Path& path) {
  double rate = 1e300;
  for (const cost::ChannelId c : path.channels) {
    rate = std::min(rate, cluster.topology.channels[static_cast<std::size_t>(c)].bandwidth.value);
  }
  return rate;
}

}  // namespace

TEST_CASE("an NDv2 has a cube mesh with six NVLinks a GPU") {
  const cost::Cluster cluster = cluster_of(kNdv2);
  std::vector<double> lanes(8, 0);
  for (const cost::Link& link : cluster.topology.links) {
    const double count = link.bandwidth.value / (1e12 / 46);
    lanes[static_cast<std::size_t>(link.a)] += count;
    lanes[static_cast<std::size_t>(link.b)] += count;
  }
  for (const double of_gpu : lanes) { CHECK(of_gpu == doctest::Approx(6)); }
  cost::Router router(cluster.topology);
  // 1 MB over one NVLink: alpha + beta = 46.3 us.
  CHECK(router.path(0, 2).latency.value == doctest::Approx(0.3e-6));
  CHECK(1e6 / slowest(cluster, router.path(0, 2)) == doctest::Approx(46e-6));
  CHECK(1e6 / slowest(cluster, router.path(0, 1)) == doctest::Approx(23e-6));
}

TEST_CASE("a sketch's relays have the NIC, the other GPUs have none") {
  const cost::Cluster cluster = cluster_of(kNdv2, kRelay);
  CHECK(cluster.nodes == 2);
  cost::Router router(cluster.topology);
  CHECK(router.path(0, 9).latency.value == doctest::Approx(2.6e-6));
  CHECK(1e6 / slowest(cluster, router.path(0, 9)) == doctest::Approx(105e-6));
  CHECK_THROWS_AS(router.path(2, 9), cost::Unreachable);
}

TEST_CASE("one beta is a switch, and a sketch's groups are switches of their own") {
  const std::string hub = R"({"name": "hub", "gpus_per_node": 4, "alpha": 2,
                              "node_betas_list": [10], "node_invbws_list": [12]})";
  const cost::Cluster one = cluster_of(hub);
  cost::Router router(one.topology);
  CHECK(router.path(0, 3).channels.size() == 2);
  CHECK(router.path(0, 3).latency.value == doctest::Approx(2e-6));
  const cost::Cluster two =
      cluster_of(hub, R"({"nnodes": 1, "intranode_sketch": {"switches": [[0, 1, 2, 3], [0, 1]]}})");
  CHECK(two.topology.links.size() == 6);
}

TEST_CASE("a custom topology has the links of its matrices") {
  const cost::Cluster cluster = cluster_of(R"({"name": "line", "gpus_per_node": 3, "alpha": 1,
    "links": [[0, 1, 0], [1, 0, 2], [0, 2, 0]], "betas": [[0, 8, 0], [8, 0, 8], [0, 8, 0]],
    "invbws": [[0, 9, 0], [9, 0, 9], [0, 9, 0]]})");
  REQUIRE(cluster.topology.links.size() == 2);
  CHECK(cluster.topology.links[0].bandwidth.value == doctest::Approx(1e12 / 8));
  CHECK(cluster.topology.links[1].bandwidth.value == doctest::Approx(2 * 1e12 / 8));
}

TEST_CASE("figures of files for 1 KB are hundredths of microseconds") {
  // TACCL's two files of an NDv2 describe one machine: 0.3 us and 23 us/MB, or 30 and 2.24.
  const cost::Cluster cluster = cluster_of(
      R"({"name": "NDv2_1KB", "gpus_per_node": 8, "alpha": 30, "node_betas_list": [2.24, 4.5]})");
  cost::Router router(cluster.topology);
  CHECK(router.path(0, 1).latency.value == doctest::Approx(0.3e-6));
  CHECK(1e6 / slowest(cluster, router.path(0, 1)) == doctest::Approx(22.4e-6));
}

TEST_CASE("mistakes are told by their places") {
  CHECK(problems_of(R"({"name": "x", "gpus_per_node": 4, "alpha": 1,
                        "node_betas_list": [1, 2]})")[0]
            .starts_with("/node_betas_list: found 2 betas, expected one (a switch)"));
  CHECK(problems_of(R"({"name": "x", "gpus_per_node": 2, "alpha": 1,
                        "links": [[0, 1]], "betas": [[0, 1], [1, 0]]})") ==
        Texts{"/links: found 1 rows, expected 2, one for each GPU"});
  CHECK(problems_of(kNdv2, R"({"nnodes": 2, "internode_sketch": {"internode_conn": {"9": [1]}}})")
            .size() >= 1);
  CHECK(problems_of(R"({"name": "x", "gpus_per_node": 2, "alpha": 1, "node_betas_list": [1]})",
                    R"({"nnodes": 2})")[0]
            .starts_with("/nics_per_node"));
}

}  // namespace tsim::sim
