#include <doctest/doctest.h>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

constexpr double kAlpha = 3e-6, kBeta = 300e9, kBytes = 240e6;

/// Time on n devices of one switch: `steps` alpha and `shares` S / B.
void check_cost(CollectiveOp op, std::string_view algorithm, int n, double steps, double shares) {
  CAPTURE(algorithm);
  CAPTURE(n);
  Bench b(nvswitch_node(16, {kBeta}, {kAlpha}));
  CHECK(b.seconds(op, algorithm, first_devices(n), 240_MB) ==
        Approx(steps * kAlpha + shares * kBytes / kBeta).epsilon(1e-9));
}

/// Nodes of `devices` on NVSwitch with a NIC for each.
ClusterDesign nodes_with_nics(int nodes, int devices, double nvlink, double nic, Fabric fabric) {
  NodeDesign node = nvswitch_design(devices, {{{nvlink}, {kAlpha / 2}}});
  for (int i = 0; i < devices; ++i) { node.nics.push_back({{}, {{nic}, {kAlpha / 2}}, {i}}); }
  return {"test", {Device{}}, {{node, nodes}}, std::move(fabric)};
}

}  // namespace

// Thakur, Rabenseifner, Gropp 2005: 2 log2 n steps, 2 (n-1)/n S; 6 ranks fold 2 into 4 and back.
TEST_CASE("recursive halving and doubling takes two logarithms of steps and the ring's bytes") {
  check_cost(CollectiveOp::all_reduce, "halving_doubling", 8, 6, 2 * 7.0 / 8);
  check_cost(CollectiveOp::all_reduce, "halving_doubling", 16, 8, 2 * 15.0 / 16);
  check_cost(CollectiveOp::all_reduce, "halving_doubling", 6, 2 + 4, 2 + 2 * 3.0 / 4);
}

// Bruck et al. 1997: blocks 1, 2, 4 among 8 ranks, 1, 2, 2 among 6; half of all in an all-to-all.
TEST_CASE("Bruck's algorithms take one logarithm of steps for any number of ranks") {
  check_cost(CollectiveOp::all_gather, "bruck", 8, 3, 7.0 / 8);
  check_cost(CollectiveOp::all_gather, "bruck", 6, 3, 5.0 / 6);
  check_cost(CollectiveOp::all_to_all, "bruck", 8, 3, 3 * 4.0 / 8);
  check_cost(CollectiveOp::all_to_all, "bruck", 6, 3, (3 + 2 + 2) / 6.0);
}

TEST_CASE("direct exchanges take one step for each phase") {
  check_cost(CollectiveOp::all_gather, "direct", 8, 1, 7.0 / 8);
  check_cost(CollectiveOp::reduce_scatter, "direct", 8, 1, 7.0 / 8);
  check_cost(CollectiveOp::all_reduce, "direct", 8, 2, 2 * 7.0 / 8);
  check_cost(CollectiveOp::all_to_all, "direct", 8, 1, 7.0 / 8);
}

// The tree's inner ranks receive S from their children and S from above, halves of either tree.
TEST_CASE("a reduce and a broadcast take a tree each, one after the other") {
  Bench b(nvswitch_node(8, {kBeta}, {kAlpha}));
  const auto d = first_devices(8);
  const double both = b.seconds(CollectiveOp::reduce, "tree", d, 240_MB) +
                      b.seconds(CollectiveOp::broadcast, "tree", d, 240_MB);
  const double time = b.seconds(CollectiveOp::all_reduce, "reduce_broadcast", d, 240_MB);
  CHECK(time <= both);
  CHECK(time >= both - 2 * 4 * kAlpha);
}

TEST_CASE("a parameter server's own link carries everything") {
  check_cost(CollectiveOp::all_reduce, "parameter_server", 8, 2, 2 * 7);
}

// bytedance/byteps issues 60 and 87: 4 machines, model of M bytes.
TEST_CASE("a machine sends M to servers apart, 1.5 M with servers on the workers or in a ring") {
  Bench b(nvswitch_node(8, {kBeta}, {kAlpha}));
  const std::vector<int> workers{0, 1, 2, 3}, servers{4, 5, 6, 7};
  auto bytes = sent(plan_parameter_servers(workers, servers, 240_MB, b.router));
  for (const int w : workers) { CHECK(bytes[w] == Approx(kBytes)); }
  for (const auto* algorithm : {"sharded_server", "ring"}) {
    bytes = sent(b.plan(CollectiveOp::all_reduce, algorithm, workers, 240_MB));
    for (const int w : workers) { CHECK(bytes[w] == Approx(1.5 * kBytes)); }
  }
}

// astra-sim issue 150: S = 1 GB, 200 GB/s in both dimensions, latency left out.
TEST_CASE("the order of a hierarchy's dimensions matters only when phases overlap") {
  const auto ms = [](int inner, int outer, std::string_view algorithm) {
    ClusterDesign d = nodes_with_nics(outer, inner, 200e9, 200e9, {});
    d.nodes[0].node.peers.planes[0].latency = {};
    for (NicDesign& nic : d.nodes[0].node.nics) { nic.wire.latency = {}; }
    Bench b(d);
    return 1e3 * b.seconds(CollectiveOp::all_reduce, algorithm, first_devices(16), 1_GB);
  };
  CHECK(ms(2, 8, "hierarchical_serial") == Approx(9.375));
  CHECK(ms(8, 2, "hierarchical_serial") == Approx(9.375));
  CHECK(ms(2, 8, "hierarchical") == Approx(5.0));
  CHECK(ms(8, 2, "hierarchical") == Approx(8.75));
}

// 4 x 4: both ways along the first dimension 2 (3/4) S / 2, a quarter of it along the second.
TEST_CASE("an all-reduce along a torus is bound by its first dimension's links") {
  ClusterDesign d = nodes_with_nics(16, 1, kBeta, 1, Torus{{4, 4}, 1, {{10e9}, {}}});
  d.nodes[0].node.nics[0].wire = {};
  Bench b(d);
  CHECK(b.seconds(CollectiveOp::all_reduce, "torus", first_devices(16), 1_GB) ==
        Approx(0.75 * 1e9 / 10e9));
  CHECK(b.plan(CollectiveOp::all_reduce, "auto", first_devices(16), 1_GB).algorithm == "torus");
}

TEST_CASE("an algorithm that the devices cannot run is refused with the reason") {
  Bench b(nvswitch_cluster(2, 4, {.bandwidth = {25e9}}));
  CHECK_THROWS_WITH_AS(b.plan(CollectiveOp::all_reduce, "in_switch", {0, 1, 4, 5}, 1_MiB),
                       "in_switch: these devices' switch does not add", std::invalid_argument);
  CHECK_THROWS_WITH_AS(b.plan(CollectiveOp::all_reduce, "hierarchical", {0, 1, 4}, 1_MiB),
                       "hierarchical: nodes with different numbers of ranks",
                       std::invalid_argument);
  CHECK_THROWS_AS(b.plan(CollectiveOp::all_reduce, "torus", {0, 4}, 1_MiB), std::invalid_argument);
}

TEST_CASE("a switch that adds has each link carry S (1 + 1/n) each way") {
  ClusterSpec spec = nvswitch_node(8, {kBeta}, {kAlpha});
  spec.node.in_switch_reduction = true;
  Bench b(spec);
  for (const int n : {2, 4, 8}) {
    CHECK(b.seconds(CollectiveOp::all_reduce, "in_switch", first_devices(n), 240_MB) ==
          Approx(2 * kAlpha + (1 + 1.0 / n) * kBytes / kBeta).epsilon(1e-9));
  }
}

TEST_CASE("auto lets the switch add where that sends less than the ring") {
  ClusterSpec spec = nvswitch_node(8, {kBeta}, {1e-9});
  spec.node.in_switch_reduction = true;
  Bench b(spec);
  CHECK(b.plan(CollectiveOp::all_reduce, "auto", first_devices(8), 1_GiB).algorithm == "in_switch");
  CHECK(b.plan(CollectiveOp::all_reduce, "auto", first_devices(2), 1_GiB).algorithm != "in_switch");
}

// Within nodes 1.125 S over NVLink; between two nodes each rank's tree moves S/8 over its NIC.
TEST_CASE("over nodes whose switches add, the slower of NVLink and the NICs sets the pace") {
  const auto time = [](double nic) {
    ClusterDesign d = nodes_with_nics(2, 8, 300e9, nic, {});
    d.nodes[0].node.peers.reduces = true;
    Bench b(d);
    return b.seconds(CollectiveOp::all_reduce, "in_switch", first_devices(16), 8_GiB);
  };
  const double s = 8.0 * 1024 * 1024 * 1024;
  CHECK(time(50e9) == Approx(1.125 * s / 300e9).epsilon(1e-3));
  CHECK(time(10e9) == Approx(s / 8 / 10e9).epsilon(1e-3));
}

// NVIDIA/nccl issues 2193 and 918.
TEST_CASE("an all-to-all that changes rails inside nodes is bound by the NICs on any fabric") {
  const auto d = first_devices(16);
  const auto time = [&](const Fabric& fabric, std::string_view algorithm) {
    Bench b(nodes_with_nics(2, 8, 300e9, 50e9, fabric));
    return b.seconds(CollectiveOp::all_to_all, algorithm, d, 4_GiB);
  };
  const TreeFabric half{0, 8, {{8, 1, {{50e9}, {}}}}}, none{0, 8, {}};
  const double bound = time(TreeFabric{}, "direct");
  CHECK(time(half, "direct") == Approx(1.75 * bound).epsilon(1e-3));
  CHECK(time(half, "rails") == Approx(bound).epsilon(1e-3));
  CHECK(time(none, "rails") == Approx(bound).epsilon(1e-3));
  CHECK(time(none, "auto") == time(none, "rails"));
  CHECK_THROWS_AS(time(none, "direct"), Unreachable);
}

TEST_CASE("a ring stays on its rails: the same with a full spine, half of one, and none") {
  for (const int nodes : {2, 3, 4}) {
    CAPTURE(nodes);
    const auto time = [&](const Fabric& fabric) {
      Bench b(nodes_with_nics(nodes, 8, 450e9, 50e9, fabric));
      return b.seconds(CollectiveOp::all_reduce, "ring", first_devices(8 * nodes), 4_GiB);
    };
    const TreeFabric full{0, 8, {{8, 1, {{50e9 * nodes}, {}}}}};
    const TreeFabric half{0, 8, {{8, 1, {{25e9 * nodes}, {}}}}}, none{0, 8, {}};
    CHECK(time(half) == Approx(time(full)).epsilon(1e-3));
    CHECK(time(none) == Approx(time(full)).epsilon(1e-3));
  }
}

TEST_CASE("uneven all-to-alls send what each pair asks for") {
  Bench b(nvswitch_node(4, {kBeta}, {kAlpha}));
  const std::vector<int> devices{3, 1, 2};
  const std::vector<double> bytes{9, 1, 2, 0, 9, 30, 0, 0, 9};
  const CollectivePlan plan = plan_all_to_all(devices, bytes, b.router);
  CHECK(sent(plan) == std::map<int, double>{{3, 3}, {1, 30}});
  CHECK(received(plan) == std::map<int, double>{{1, 1}, {2, 32}});
  CHECK(time_alone(plan, b.cluster.topology, b.router).value ==
        Approx(kAlpha + 32 / kBeta).epsilon(1e-12));
}
