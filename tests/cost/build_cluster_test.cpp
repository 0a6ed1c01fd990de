#include "cost/build_cluster.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;
using Names = std::vector<std::string>;

namespace {

/// Four cards, two under each switch.
ClusterSpec pcie_tree() {
  ClusterSpec spec;
  spec.devices_per_node = 4;
  spec.node = {.kind = NodeKind::pcie,
               .bandwidth = {12e9},
               .latency = {2e-6},
               .devices_per_switch = 2,
               .uplink_bandwidth = {10e9},
               .host_latency = {1e-6}};
  return spec;
}

BytesPerSecond slowest(const Topology& t, const Path& path) {
  BytesPerSecond least = kUnlimited;
  for (const ChannelId c : path.channels) {
    least = std::min(least, t.channels[static_cast<std::size_t>(c)].bandwidth);
  }
  return least;
}

}  // namespace

TEST_CASE("devices under one NVSwitch talk over their own two links") {
  const Cluster c = build_cluster(nvswitch_node(8, {300e9}, {3e-6}));
  Router router(c.topology);
  CHECK(device_count(c) == 8);
  CHECK(channel_names(c.topology, router.path(2, 5)) ==
        Names{"node0/gpu2 -> node0/nvswitch", "node0/nvswitch -> node0/gpu5"});
  CHECK(router.path(2, 5).latency.value == Approx(3e-6).epsilon(1e-12));
}

TEST_CASE("direct nodes have one link between every two devices") {
  ClusterSpec spec = nvswitch_node(4, {50e9}, {2e-6});
  spec.node.kind = NodeKind::direct;
  const Cluster c = build_cluster(spec);
  Router router(c.topology);
  CHECK(c.topology.links.size() == 6);
  CHECK(channel_names(c.topology, router.path(3, 1)) == Names{"node0/gpu3 -> node0/gpu1"});
}

TEST_CASE("cards under one PCIe switch do not load its uplink") {
  const Cluster c = build_cluster(pcie_tree());
  Router router(c.topology);
  CHECK(channel_names(c.topology, router.path(0, 1)) ==
        Names{"node0/gpu0 -> node0/pcie0", "node0/pcie0 -> node0/gpu1"});
  CHECK(router.path(0, 1).latency.value == Approx(2e-6).epsilon(1e-12));
}

TEST_CASE("flows from one PCIe switch to another share its uplink") {
  const Cluster c = build_cluster(pcie_tree());
  Router router(c.topology);
  const Path a = router.path(0, 2), b = router.path(1, 3);
  std::set<ChannelId> shared;
  for (const ChannelId x : a.channels) {
    for (const ChannelId y : b.channels) {
      if (x == y) { shared.insert(x); }
    }
  }
  CHECK(channel_names(c.topology, {{shared.begin(), shared.end()}, {}}) ==
        Names{"node0/pcie0 -> node0/host0", "node0/host0 -> node0/pcie1"});
  CHECK(slowest(c.topology, a).value == 10e9);
  CHECK(a.latency.value == Approx(3e-6).epsilon(1e-12));  // 2 us under a switch, 1 us for the host
}

TEST_CASE("an uplink without a rate of its own is as fast as a card's link") {
  ClusterSpec spec = pcie_tree();
  spec.node.uplink_bandwidth = {};
  const Cluster c = build_cluster(spec);
  Router router(c.topology);
  CHECK(slowest(c.topology, router.path(0, 2)).value == 12e9);
}

TEST_CASE("all cards are under one switch unless their number is given") {
  ClusterSpec spec = pcie_tree();
  spec.node.devices_per_switch = 0;
  const Cluster c = build_cluster(spec);
  Router router(c.topology);
  CHECK(router.path(0, 3).channels.size() == 2);
}

TEST_CASE("between nodes only the two NICs are loaded, and at their efficiency") {
  const Cluster c = build_cluster(nvswitch_cluster(
      2, 8, {.nics_per_node = 8, .bandwidth = {50e9}, .latency = {5e-6}, .efficiency = 0.9}));
  Router router(c.topology);
  CHECK(channel_names(c.topology, router.path(3, 12)) ==
        Names{"node0/nic3 -> network", "network -> node1/nic4"});
  CHECK(slowest(c.topology, router.path(3, 12)).value == Approx(45e9));
  CHECK(router.path(3, 12).latency.value == Approx(5e-6).epsilon(1e-12));
}

TEST_CASE("NICs are dealt evenly, neighbours first") {
  const Cluster c = build_cluster(
      nvswitch_cluster(2, 8, {.nics_per_node = 3, .bandwidth = {25e9}, .latency = {5e-6}}));
  Router router(c.topology);
  Names nics;
  for (int d = 0; d < 8; ++d) { nics.push_back(channel_names(c.topology, router.path(d, 8))[0]); }
  const auto of = [](int n) { return "node0/nic" + std::to_string(n) + " -> network"; };
  CHECK(nics == Names{of(0), of(0), of(0), of(1), of(1), of(1), of(2), of(2)});
}

TEST_CASE("devices that share a NIC do not talk through it") {
  for (const NodeKind kind : {NodeKind::nvswitch, NodeKind::direct, NodeKind::pcie}) {
    ClusterSpec spec = nvswitch_cluster(2, 4, {.bandwidth = {400e9}});
    spec.node.kind = kind;
    const Cluster c = build_cluster(spec);
    Router router(c.topology);
    for (const std::string& name : channel_names(c.topology, router.path(1, 2))) {
      CHECK(name.find("nic") == std::string::npos);
    }
    CHECK(router.path(1, 2).latency.value == Approx(3e-6).epsilon(1e-12));
    CHECK(slowest(c.topology, router.path(1, 2)).value == 300e9);
  }
}

TEST_CASE("several NICs of one device add up") {
  const Cluster c = build_cluster(
      nvswitch_cluster(2, 2, {.nics_per_node = 4, .bandwidth = {25e9}, .latency = {5e-6}}));
  Router router(c.topology);
  CHECK(slowest(c.topology, router.path(1, 3)).value == Approx(50e9));
}

TEST_CASE("in a PCIe node traffic to a NIC behind another switch crosses the uplinks") {
  ClusterSpec spec = pcie_tree();
  spec.nodes = 2;
  spec.network = {.nics_per_node = 1, .bandwidth = {12e9}, .latency = {4e-6}};
  const Cluster c = build_cluster(spec);
  Router router(c.topology);
  CHECK(channel_names(c.topology, router.path(2, 4)) ==
        Names{"node0/gpu2 -> node0/pcie1", "node0/pcie1 -> node0/host0",
              "node0/host0 -> node0/pcie0", "node0/nic0 -> network", "network -> node1/nic0",
              "node1/pcie0 -> node1/gpu0"});
}

TEST_CASE("devices are numbered node by node") {
  const Cluster c = build_cluster(nvswitch_cluster(3, 4, {.bandwidth = {25e9}}));
  CHECK(device_count(c) == 12);
  CHECK(node_of(c.topology, 3) == 0);
  CHECK(node_of(c.topology, 4) == 1);
  CHECK(node_of(c.topology, 11) == 2);
}

TEST_CASE("one device alone needs no wires") {
  const Cluster c = build_cluster(nvswitch_node(1, {300e9}, {3e-6}));
  CHECK(c.topology.links.empty());
  CHECK(device_count(c) == 1);
}
