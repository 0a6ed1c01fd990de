// Tokens to experts and back: bytes by hand, and DeepEP's figures on H800.
#include "cost/dispatch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "cost/tunings.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::testing;

namespace {

/// Nodes of eight H800 on separate rails: of NVLink's 200 GB/s one way 160 are reached, of a card's
/// 50 GB/s 48.
ClusterSpec h800(int nodes) {
  ClusterSpec spec = nvswitch_node(8, {160e9}, {0.5e-6});
  spec.nodes = nodes;
  spec.network = {.nics_per_node = 8, .bandwidth = {48e9}, .latency = {1e-6}};
  spec.tuning = tuning_named("deepep-h800").value();
  return spec;
}

std::vector<double> even(int ranks, double payload) {
  const auto n = static_cast<std::size_t>(ranks);
  return std::vector<double>(n * n, payload / ranks);
}

double seconds(Bench& bench, DispatchWay way, int ranks, const RowTraffic& traffic) {
  const auto plan = plan_dispatch(way, first_devices(ranks), traffic, bench.router);
  return time_alone(plan, bench.cluster.topology).value;
}

/// Bytes that leave devices for their node's switch or their cards for the network.
double all_sent(const DispatchPlan& plan, const Topology& topology) {
  double sum = 0;
  for (std::size_t l = 0; l < topology.links.size(); ++l) {
    const Link& link = topology.links[l];
    for (const auto& [channel, bytes] : plan.loads) {
      const bool out = channel == topology.forward_channel[l];
      const VertexId from = out ? link.a : link.b;
      const bool either = out || channel == topology.backward_channel[l];
      const auto kind = topology.vertices[static_cast<std::size_t>(from)].kind;
      if (either && (kind == VertexKind::device || kind == VertexKind::nic)) { sum += bytes; }
    }
  }
  return sum;
}

struct Row {
  int ranks = 0;
  double dispatch = 0, combine = 0;  // GB/s of the bottleneck, or us
};

}  // namespace

TEST_CASE("DeepEP's low-latency kernels on 8 to 256 H800: within 15 %") {
  // 128 tokens of 7168, eight experts each; fp8 with a scale for each 128, results in bf16.
  constexpr double kTokens = 128.0 * 8;
  constexpr std::array kRows{Row{8, 77, 114},   Row{16, 118, 195},  Row{32, 155, 273},
                             Row{64, 173, 314}, Row{128, 192, 369}, Row{256, 194, 360}};
  for (const Row& row : kRows) {
    CAPTURE(row.ranks);
    Bench bench(h800(row.ranks / 8));
    const auto there = even(row.ranks, kTokens * (7168 + 7168.0 / 128 * 4));
    const auto back = even(row.ranks, kTokens * 7168 * 2);
    CHECK(seconds(bench, DispatchWay::direct, row.ranks, {.bytes = there}) * 1e6 ==
          doctest::Approx(row.dispatch).epsilon(0.15));
    CHECK(seconds(bench, DispatchWay::direct, row.ranks, {.bytes = back}) * 1e6 ==
          doctest::Approx(row.combine).epsilon(0.15));
  }
}

TEST_CASE("DeepEP's normal kernels on 8 to 64 H800: bottleneck bandwidth within 15 %") {
  // 4096 tokens of 7168 to eight of 256 experts on four nodes at most. The bandwidth counts what a
  // rank receives over NVLink on one node, what it sends to nodes on several, its own included.
  constexpr double kTokens = 4096;
  constexpr std::array kRows{Row{8, 153, 158}, Row{16, 43, 43}, Row{32, 58, 57}, Row{64, 51, 50}};
  for (const Row& row : kRows) {
    CAPTURE(row.ranks);
    const double nodes = row.ranks / 8.0;
    const double reached = std::min(nodes, 4.0);
    const double experts = 256 * reached / nodes;
    const double hit_nodes = mean_groups_hit(experts, reached, 8);
    const double hit_ranks = mean_groups_hit(experts, 8 * reached, 8);
    Bench bench(h800(row.ranks / 8));
    const auto bandwidth = [&](double token) {
      const auto bytes = even(row.ranks, kTokens * 8 * token);
      const double time =
          seconds(bench, DispatchWay::rails, row.ranks,
                  {.bytes = bytes, .node_share = hit_nodes / 8, .device_share = hit_ranks / 8});
      return kTokens * token * (nodes > 1 ? hit_nodes : hit_ranks) / time / 1e9;
    };
    CHECK(bandwidth(7168 + 7168.0 / 128 * 4) == doctest::Approx(row.dispatch).epsilon(0.15));
    CHECK(bandwidth(7168 * 2) == doctest::Approx(row.combine).epsilon(0.15));
  }
}

TEST_CASE("hit groups: all of one, none twice for one choice, by hand for two of two") {
  CHECK(mean_groups_hit(8, 1, 2) == doctest::Approx(1));
  CHECK(mean_groups_hit(64, 8, 1) == doctest::Approx(1));
  // Two of four experts on two ranks: one rank with probability 1/3.
  CHECK(mean_groups_hit(4, 2, 2) == doctest::Approx(5.0 / 3));
  CHECK(mean_groups_hit(8, 8, 8) == doctest::Approx(8));
}

TEST_CASE("each way moves the bytes that its path says") {
  // Two nodes of two; every device has 1 byte for each of the four.
  ClusterSpec spec = nvswitch_node(2, {100e9}, {1e-6});
  spec.nodes = 2;
  spec.network = {.nics_per_node = 2, .bandwidth = {10e9}, .latency = {1e-6}};
  Bench bench(spec);
  const auto bytes = even(4, 4);
  const auto plan = [&](DispatchWay way, double share) {
    return plan_dispatch(way, first_devices(4),
                         {.bytes = bytes, .node_share = share, .device_share = share},
                         bench.router);
  };
  // Three of four leave their device.
  const Topology& t = bench.cluster.topology;
  CHECK(all_sent(plan(DispatchWay::direct, 1), t) == doctest::Approx(12));
  // Each hands its neighbour two, and sends two to its place in the other node.
  CHECK(all_sent(plan(DispatchWay::hierarchical, 1), t) == doctest::Approx(16));
  CHECK(all_sent(plan(DispatchWay::rails, 1), t) == doctest::Approx(16));
  CHECK(all_sent(plan(DispatchWay::rails, 0.5), t) == doctest::Approx(8));
}

TEST_CASE("the fullest device sets the pace of an unequal exchange") {
  ClusterSpec spec = nvswitch_node(4, {100e9}, {0});
  Bench bench(spec);
  std::vector<double> bytes(16, 0.0);
  for (std::size_t from = 1; from < 4; ++from) { bytes[from * 4] = 1e9; }  // all to the first
  CHECK(seconds(bench, DispatchWay::direct, 4, {.bytes = bytes}) == doctest::Approx(0.03));
}

TEST_CASE("an exchange in two levels refuses nodes of different sizes") {
  Bench bench(h800(2));
  const std::vector<int> devices{0, 1, 8};
  const std::vector<double> bytes(9, 1.0);
  CHECK_THROWS_AS(plan_dispatch(DispatchWay::hierarchical, devices, {.bytes = bytes}, bench.router),
                  std::invalid_argument);
}
