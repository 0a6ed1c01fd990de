#include "cost/collectives.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::reduce_scatter,
                          CollectiveOp::all_gather, CollectiveOp::broadcast,
                          CollectiveOp::reduce,     CollectiveOp::scatter,
                          CollectiveOp::gather,     CollectiveOp::all_to_all,
                          CollectiveOp::send_recv,  CollectiveOp::barrier};

}  // namespace

TEST_CASE("ring all-reduce takes 2(n-1) alpha + 2(n-1)/n S/B on a uniform node") {
  for (const int n : {2, 3, 8, 13}) {
    Bench b(nvswitch_node(16, {300e9}, {3e-6}));
    const double s = 123456789.0;
    const double expected = 2 * (n - 1) * 3e-6 + 2.0 * (n - 1) / n * s / 300e9;
    CHECK(b.seconds(CollectiveOp::all_reduce, "ring", first_devices(n), {123456789}) ==
          Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("ring all-gather and reduce-scatter take half of it") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const double expected = 7 * 3e-6 + 7.0 / 8 * 1e9 / 300e9;
  CHECK(b.seconds(CollectiveOp::all_gather, "ring", first_devices(8), 1000_MB) ==
        Approx(expected).epsilon(1e-9));
  CHECK(b.seconds(CollectiveOp::reduce_scatter, "ring", first_devices(8), 1000_MB) ==
        Approx(expected).epsilon(1e-9));
}

// NVIDIA/nccl issue 457.
TEST_CASE("each rank of a ring sends 150 MB for 100 MB over 4 ranks, 175 MB over 8") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  for (const auto& [n, mb] : {std::pair{4, 150e6}, std::pair{8, 175e6}}) {
    const auto plan = b.plan(CollectiveOp::all_reduce, "ring", first_devices(n), 100_MB);
    for (const auto& [device, bytes] : sent(plan)) { CHECK(bytes == Approx(mb).epsilon(1e-12)); }
    CHECK(sent(plan) == received(plan));
  }
}

TEST_CASE("each rank of the double tree sends 2S, its two roots S") {
  for (const int n : {4, 8, 64}) {
    Bench b(nvswitch_node(64, {300e9}, {3e-6}));
    const auto bytes = sent(b.plan(CollectiveOp::all_reduce, "tree", first_devices(n), 100_MB));
    CHECK(std::ranges::count_if(bytes, [](auto& x) { return x.second == 100e6; }) == 2);
    CHECK(std::ranges::count_if(bytes, [](auto& x) { return x.second == 200e6; }) == n - 2);
  }
}

// Every rank but the root gets all bytes reduced up and down one edge of either tree.
TEST_CASE("the double tree moves 2(n-1) S for any number of ranks, none more than 2S") {
  for (const int n : {2, 3, 5, 9, 12, 31}) {
    Bench b(nvswitch_node(31, {300e9}, {3e-6}));
    double total = 0;
    for (const auto& [device, bytes] :
         sent(b.plan(CollectiveOp::all_reduce, "tree", first_devices(n), 100_MB))) {
      CHECK(bytes <= 200e6 * (1 + 1e-12));
      total += bytes;
    }
    CHECK(total == Approx(2 * (n - 1) * 100e6).epsilon(1e-12));
  }
}

// aliyun/SimAI issue 147.
TEST_CASE("an all-reduce moves twice the bytes of an all-gather in twice the time") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const auto devices = first_devices(8);
  for (const auto& [op, share] :
       {std::pair{CollectiveOp::all_reduce, 1.75}, std::pair{CollectiveOp::all_gather, 0.875},
        std::pair{CollectiveOp::reduce_scatter, 0.875}}) {
    for (const auto& [device, bytes] : sent(b.plan(op, "ring", devices, 1_GiB))) {
      CHECK(bytes == Approx(share * 1024 * 1024 * 1024).epsilon(1e-12));
    }
  }
  CHECK(b.seconds(CollectiveOp::all_reduce, "ring", devices, 1_GiB) /
            b.seconds(CollectiveOp::all_gather, "ring", devices, 1_GiB) ==
        Approx(2.0).epsilon(1e-9));
}

// NVIDIA/nccl issues 1712 and 790: 8 bytes, 5 us a hop.
TEST_CASE("ring latency grows with n, tree latency with its logarithm") {
  Bench b(nvswitch_node(512, {300e9}, {5e-6}));
  const std::array expected{std::array{8.0, 70e-6, 30e-6}, std::array{64.0, 630e-6, 60e-6},
                            std::array{512.0, 5110e-6, 90e-6}};
  for (const auto& [n, ring, tree] : expected) {
    const auto devices = first_devices(static_cast<int>(n));
    CHECK(b.seconds(CollectiveOp::all_reduce, "ring", devices, 8_B) == Approx(ring).epsilon(1e-4));
    CHECK(b.seconds(CollectiveOp::all_reduce, "tree", devices, 8_B) == Approx(tree).epsilon(1e-4));
  }
}

TEST_CASE("auto takes the tree for small messages and the ring for large ones") {
  Bench b(nvswitch_node(8, {300e9}, {5e-6}));
  const auto devices = first_devices(8);
  CHECK(b.plan(CollectiveOp::all_reduce, "auto", devices, 8_B).algorithm == "tree");
  CHECK(b.plan(CollectiveOp::all_reduce, "auto", devices, 4_GiB).algorithm == "ring");
}

TEST_CASE("auto is never slower than any algorithm that it chooses from") {
  Bench b(nvswitch_cluster(4, 8, {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}}));
  for (const CollectiveOp op : kOps) {
    for (const Bytes size : {0_B, 1_KiB, 1_MiB, 1_GiB}) {
      const double chosen = b.seconds(op, "auto", first_devices(32), size);
      for (const auto name : automatic_algorithms(op)) {
        if (name == "in_switch" || name == "torus") { continue; }  // not on this cluster
        CHECK(chosen <= b.seconds(op, name, first_devices(32), size));
      }
    }
  }
}

TEST_CASE("a large ring all-reduce has the same bus bandwidth for any number of ranks") {
  Bench b(nvswitch_node(64, {300e9}, {1e-6}));
  for (const int n : {2, 8, 64}) {
    const double busbw = 2.0 * (n - 1) / n * 16.0 * 1024 * 1024 * 1024 /
                         b.seconds(CollectiveOp::all_reduce, "ring", first_devices(n), 16_GiB);
    CHECK(busbw == Approx(300e9).epsilon(0.01));
    CHECK(busbw <= 300e9);
  }
}

// NVIDIA/nccl-tests issue 196: two nodes of 8, one 100 Gb/s NIC each. The ring sends 2(n-1)/n S
// over each NIC, the tree S; from four nodes on an inner tree node sends 2S.
TEST_CASE("with two nodes the tree's bus bandwidth exceeds the NIC's rate, with four it does not") {
  const auto busbw = [](int nodes, std::string_view algorithm) {
    Bench b(nvswitch_cluster(nodes, 8, {.bandwidth = 100_Gbps, .latency = {5e-6}}));
    const int n = 8 * nodes;
    return 2.0 * (n - 1) / n * 4.0 * 1024 * 1024 * 1024 /
           b.seconds(CollectiveOp::all_reduce, algorithm, first_devices(n), 4_GiB);
  };
  CHECK(busbw(2, "ring") == Approx(12.5e9).epsilon(0.01));
  CHECK(busbw(2, "ring") <= 12.5e9);
  CHECK(busbw(2, "tree") == Approx(23.4e9).epsilon(0.01));
  CHECK(busbw(4, "ring") == Approx(12.5e9).epsilon(0.01));
  CHECK(busbw(4, "tree") == Approx(12.5e9).epsilon(0.04));
}

// NVIDIA/nccl-tests issue 106.
TEST_CASE("a slow node sets the pace of every group it is in and of no other") {
  Cluster c = build_cluster(nvswitch_cluster(4, 1, {.bandwidth = {87.5e9}, .latency = {5e-6}}));
  for (Link& link : c.topology.links) {
    const std::string& name = c.topology.vertices[static_cast<std::size_t>(link.a)].name;
    if (link.kind == LinkKind::nic && name.starts_with("node2/")) { link.bandwidth = {49e9}; }
  }
  finish(c.topology);
  Bench b(std::move(c));
  const auto busbw = [&](std::vector<int> devices) {
    const auto n = static_cast<double>(devices.size());
    return 2 * (n - 1) / n * 4.0 * 1024 * 1024 * 1024 /
           b.seconds(CollectiveOp::all_reduce, "ring", std::move(devices), 4_GiB);
  };
  CHECK(busbw({0, 1}) == Approx(87.5e9).epsilon(0.02));
  CHECK(busbw({0, 2}) == Approx(49e9).epsilon(0.02));
  CHECK(busbw({0, 1, 2, 3}) == Approx(49e9).epsilon(0.02));
  CHECK(busbw({3, 0, 1}) == Approx(87.5e9).epsilon(0.02));
}

// NVIDIA/nccl-tests issues 130 and 267: one 49 GB/s NIC per GPU, N nodes of 8.
TEST_CASE("only the bytes that leave a node load its NICs in an all-to-all") {
  const std::array expected{std::pair{2, 91.9e9}, std::pair{4, 63.3e9}, std::pair{8, 55.1e9}};
  for (const auto& [nodes, busbw] : expected) {
    Bench b(
        nvswitch_cluster(nodes, 8, {.nics_per_node = 8, .bandwidth = {49e9}, .latency = {5e-6}}));
    const int n = 8 * nodes;
    const double seconds = b.seconds(CollectiveOp::all_to_all, "auto", first_devices(n), 4_GiB);
    CHECK((n - 1.0) / n * 4.0 * 1024 * 1024 * 1024 / seconds == Approx(busbw).epsilon(0.01));
  }
}

// NVIDIA/nccl issue 1138: 8 GPUs share four 200 Gb/s NICs in each of two nodes.
TEST_CASE("two GPUs on one NIC halve the all-to-all's ceiling") {
  Bench b(nvswitch_cluster(2, 8, {.nics_per_node = 4, .bandwidth = 200_Gbps, .latency = {5e-6}}));
  const double seconds = b.seconds(CollectiveOp::all_to_all, "auto", first_devices(16), 4_GiB);
  CHECK(15.0 / 16 * 4.0 * 1024 * 1024 * 1024 / seconds == Approx(23.44e9).epsilon(0.01));
}

// astra-sim issue 207.
TEST_CASE("a tenth of the bandwidth makes a large all-reduce ten times as long") {
  Bench fast(nvswitch_node(8, {300e9}, {1e-9})), slow(nvswitch_node(8, {30e9}, {1e-9}));
  const auto time = [](Bench& b) {
    return b.seconds(CollectiveOp::all_reduce, "ring", first_devices(8), 1_GiB);
  };
  CHECK(time(slow) / time(fast) == Approx(10).epsilon(0.01));
}

TEST_CASE("more ranks, a tree instead of a switch, or another network change the time") {
  Bench node(nvswitch_node(8, {300e9}, {3e-6}));
  ClusterSpec tree = nvswitch_node(8, {300e9}, {3e-6});
  tree.node.kind = NodeKind::pcie;
  tree.node.devices_per_switch = 4;
  tree.node.uplink_bandwidth = {50e9};
  Bench pcie(tree);
  Bench nodes(nvswitch_cluster(8, 8, {.bandwidth = {25e9}}));
  const auto time = [](Bench& b, int n) {
    return b.seconds(CollectiveOp::all_reduce, "ring", first_devices(n), 64_MiB);
  };
  CHECK(time(pcie, 8) > 3 * time(node, 8));
  CHECK(time(nodes, 64) > 3 * time(node, 8));
}

TEST_CASE("two transfers over one PCIe uplink take twice the time of one") {
  ClusterSpec spec = nvswitch_node(4, {12e9}, {});
  spec.node.kind = NodeKind::pcie;
  spec.node.devices_per_switch = 2;
  Bench b(spec);
  const CollectivePlan one{"", {}, {{0, 2, 12e9}}};
  const CollectivePlan two{"", {}, {{0, 2, 12e9}, {1, 3, 12e9}}};
  const CollectivePlan apart{"", {}, {{0, 1, 12e9}, {2, 3, 12e9}}};
  CHECK(time_alone(one, b.cluster.topology, b.router).value == Approx(1).epsilon(1e-9));
  CHECK(time_alone(two, b.cluster.topology, b.router).value == Approx(2).epsilon(1e-9));
  CHECK(time_alone(apart, b.cluster.topology, b.router).value == Approx(1).epsilon(1e-9));
}

TEST_CASE("a single device communicates for nothing") {
  Bench b(nvswitch_node(2, {300e9}, {3e-6}));
  for (const CollectiveOp op : kOps) {
    const CollectivePlan plan = b.plan(op, "auto", {1}, 1_GiB);
    CHECK(plan.transfers.empty());
    CHECK(plan.latency.value == 0);
    CHECK_FALSE(plan.algorithm.empty());
  }
}

TEST_CASE("rooted collectives leave from the first device or end there") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const std::vector<int> devices{5, 1, 2, 7};
  const Bytes s = 400_MB;
  CHECK(sent(b.plan(CollectiveOp::scatter, "direct", devices, s)) ==
        std::map<int, double>{{5, 300e6}});
  CHECK(received(b.plan(CollectiveOp::gather, "direct", devices, s)) ==
        std::map<int, double>{{5, 300e6}});
  for (const auto* algorithm : {"ring", "tree"}) {
    const auto got = received(b.plan(CollectiveOp::broadcast, algorithm, devices, s));
    for (const int d : {1, 2, 7}) { CHECK(got.at(d) == Approx(400e6)); }
    const auto given = sent(b.plan(CollectiveOp::reduce, algorithm, devices, s));
    for (const int d : {1, 2, 7}) { CHECK(given.at(d) >= 400e6 * (1 - 1e-12)); }
  }
}

TEST_CASE("a send takes its path's latency and the bytes over its slowest link") {
  Bench b(nvswitch_cluster(2, 8, {.bandwidth = {25e9}, .latency = {5e-6}}));
  CHECK(b.seconds(CollectiveOp::send_recv, "auto", {0, 8}, 25_MB) ==
        Approx(5e-6 + 1e-3).epsilon(1e-9));
  CHECK(b.plan(CollectiveOp::send_recv, "auto", {0, 8}, 25_MB).transfers.size() == 1);
}

TEST_CASE("a barrier takes a round for every doubling of the ranks") {
  Bench b(nvswitch_node(9, {300e9}, {3e-6}));
  CHECK(b.seconds(CollectiveOp::barrier, "auto", first_devices(8), 0_B) == Approx(9e-6));
  CHECK(b.seconds(CollectiveOp::barrier, "auto", first_devices(9), 0_B) == Approx(12e-6));
}

TEST_CASE("ranks renamed within a symmetric node change nothing") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  for (const CollectiveOp op : kOps) {
    CHECK(b.seconds(op, "auto", {0, 1, 2, 3, 4, 5, 6, 7}, 1_MiB) ==
          Approx(b.seconds(op, "auto", {3, 1, 0, 7, 5, 6, 2, 4}, 1_MiB)).epsilon(1e-12));
  }
}

TEST_CASE("an unknown algorithm is refused with the names there are") {
  Bench b(nvswitch_node(2, {300e9}, {3e-6}));
  CHECK_THROWS_WITH_AS(b.plan(CollectiveOp::reduce_scatter, "rnig", {0, 1}, 1_MiB),
                       "found \"rnig\", expected auto, ring, direct, halving, hierarchical "
                       "(algorithms of reduce_scatter)",
                       std::invalid_argument);
}

TEST_CASE("every operation has at least one algorithm") {
  for (const CollectiveOp op : kOps) { CHECK_FALSE(collective_algorithms(op).empty()); }
}
