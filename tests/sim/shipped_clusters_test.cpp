// Every cluster that comes with tsim: it can be read, and its wiring is sound.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/input/data_files.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/topo/describe.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

BytesPerSecond rate(cost::Router& router, int from, int to) {
  BytesPerSecond least = cost::kUnlimited;
  for (const cost::ChannelId c : router.path(from, to).channels) {
    least = std::min(least, router.topology().channels[static_cast<std::size_t>(c)].bandwidth);
  }
  return least;
}

std::vector<std::string> row(const NodeTable& table, std::size_t i) {
  std::vector<std::string> texts;
  for (const cost::Nearness& near : table.matrix[i]) { texts.push_back(text_of(near)); }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the clusters that come with tsim are there") {
  const std::vector<std::string> names = names_in("clusters", {});
  for (const char* name :
       {"dgx1_v100", "dgx_a100_pod", "dgx_h100_pod", "nvlink_bridges", "pcie_two_sockets",
        "no_peer_access", "mlu270_box", "ascend910", "gb200_nvl72", "p3_16xlarge", "p4d_24xlarge",
        "fat_tree_2to1", "dragonfly", "torus_4x4", "mixed_v100_a100"}) {
    CAPTURE(name);
    CHECK(std::ranges::count(names, std::string(name)) == 1);
  }
}

TEST_CASE("in every cluster all devices reach each other, as fast to as fro") {
  for (const std::string& name : names_in("clusters", {})) {
    CAPTURE(name);
    const cost::Cluster cluster = read_cluster(name);
    cost::Router router(cluster.topology);
    const int devices = device_count(cluster);
    const int step = devices > 600 ? 37 : 1;  // of a large one, every slot of a node is among them
    for (int a = 0; a < devices; a += step) {
      for (int b = a + 1; b < devices; ++b) {
        CAPTURE(a);
        CAPTURE(b);
        const BytesPerSecond there = rate(router, a, b);
        CHECK(there.value > 0);
        CHECK(there == rate(router, b, a));
        CHECK(router.path(a, b).latency.value ==
              doctest::Approx(router.path(b, a).latency.value).epsilon(1e-12));
      }
    }
  }
}

// WP-08437-002, fig. 4: six lanes a GPU; the three pairs of opposite corners have none.
TEST_CASE("a DGX-1's devices have one lane, two or none between them") {
  const TopologyReport r = describe(read_cluster("dgx1_v100"), false);
  const NodeTable& t = r.tables.at(0);
  CHECK(row(t, 0) ==
        Texts{"X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS", "PIX", "PHB", "SYS", "SYS"});
  CHECK(row(t, 6) ==
        Texts{"SYS", "SYS", "NV1", "SYS", "NV1", "NV2", "X", "NV2", "SYS", "SYS", "PHB", "PIX"});
  CHECK(t.cores[0] == "0-19,40-59");
  CHECK(t.numa[7] == "1");
}

// DGX A100: NV12 between all, PXB where GPU and card are not under one switch (WP-10083-001).
TEST_CASE("a DGX A100's devices have twelve lanes, a card beside each, and its rail") {
  const TopologyReport r = describe(read_cluster("dgx_a100_pod"), false);
  REQUIRE(r.tables.size() == 1);
  CHECK(r.tables[0].alike == 4);
  CHECK(row(r.tables[0], 0)[7] == "NV12");
  CHECK(row(r.tables[0], 0)[8] == "PIX");
  CHECK(row(r.tables[0], 0)[15] == "SYS");
  const cost::Cluster cluster = read_cluster("dgx_a100_pod");
  cost::Router router(cluster.topology);
  CHECK(rate(router, 0, 1).value == doctest::Approx(300e9));
  // On one rail a message passes one leaf; to another, leaf, spine, leaf: two crossings more.
  CHECK(router.path(0, 9).latency.value - router.path(0, 8).latency.value ==
        doctest::Approx(2 * 0.5e-6));
}

TEST_CASE("an NVL72's devices have 18 lanes and in-switch sums") {
  const cost::Cluster cluster = read_cluster("gb200_nvl72");
  CHECK(device_count(cluster) == 72);
  CHECK(cluster.topology.device_reducer[71] >= 0);
  CHECK(row(describe(cluster, false).tables[0], 0)[71] == "NV18");
}

TEST_CASE("without peer access messages pass host memory") {
  const TopologyReport r = describe(read_cluster("no_peer_access"), false);
  CHECK(r.inside.at(0).path == "node0/gpu0 > host0 .. > cpu0 > dram0 > cpu0 .. > host0 > gpu1");
}

// HPCA 2021: two groups of four on HCCS, PCIe between them.
TEST_CASE("an Ascend server has two groups of four") {
  const cost::Cluster cluster = read_cluster("ascend910");
  cost::Router router(cluster.topology);
  CHECK(rate(router, 0, 3).value == doctest::Approx(30e9));
  CHECK(rate(router, 0, 4).value == doctest::Approx(24e9));
  CHECK(rate(router, 0, 8).value == doctest::Approx(12.5e9));
}

TEST_CASE("a 2:1 fat tree's leaves have half of their servers' rate upwards") {
  const cost::Cluster cluster = read_cluster("fat_tree_2to1");
  double up = 0;
  for (const cost::Link& link : cluster.topology.links) {
    if (link.kind == cost::LinkKind::fabric) { up += link.bandwidth.value; }
  }
  CHECK(up == doctest::Approx(16 * 8 * 24e9 / 2));  // 16 servers of 8 cards at 24 GB/s
}

TEST_CASE("half-way round a 4 x 4 torus are four hops") {
  const cost::Cluster cluster = read_cluster("torus_4x4");
  cost::Router router(cluster.topology);
  CHECK(router.path(0, 10).channels.size() == 4);  // (0,0) to (2,2)
  CHECK(router.path(0, 3).channels.size() == 1);   // rows are closed to rings
}

TEST_CASE("a large cluster is described by one node of each kind and one way of each sort") {
  const TopologyReport r = describe(read_cluster("fat_tree_2to1"), false);
  CHECK(r.tables.size() == 1);
  CHECK(r.tables[0].alike == 16);
  CHECK(r.inside.size() == 28);
  REQUIRE(r.between.size() == 2);  // in the rack, and across
  // Of node 0's eight devices to three other nodes in the rack, and to twelve outside.
  CHECK(r.between[0].alike == 8 * 8 * 3);
  CHECK(r.between[1].alike == 8 * 8 * 12);
  const TopologyReport all = describe(read_cluster("dgx1_v100_pod"), true);
  CHECK(all.tables.size() == 2);
  CHECK(all.between.size() == 64);
}
