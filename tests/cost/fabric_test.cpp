#include "cost/wiring/fabric.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "cost/collectives.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;
using Names = std::vector<std::string>;

namespace {

/// Nodes of `devices` on NVSwitch with a NIC each.
ClusterDesign design(int nodes, int devices, LinkSpec wire, Fabric fabric) {
  NodeDesign node = nvswitch_design(devices, {{300_GBps, {1e-6}}});
  for (int i = 0; i < devices; ++i) { node.nics.push_back({{}, wire, {i}}); }
  return {"test", {Device{}}, {{node, nodes}}, std::move(fabric)};
}

/// Most messages on one channel of the fabric when device i sends to device f(i).
int most_shared(const Topology& t, Router& router, auto f) {
  std::map<ChannelId, int> load;
  int most = 0;
  for (int i = 0; i < static_cast<int>(t.devices.size()); ++i) {
    for (const ChannelId c : router.path(i, f(i)).channels) {
      if (t.channels[static_cast<std::size_t>(c)].kind != LinkKind::fabric) { continue; }
      most = std::max(most, ++load[c]);
    }
  }
  return most;
}

double all_to_all(const ClusterDesign& d, Bytes payload) {
  const Cluster c = build_cluster(d);
  Router router(c.topology);
  const auto devices = first_devices(device_count(c));
  return time_alone(plan_collective(CollectiveOp::all_to_all, "direct", devices, payload, router),
                    c.topology, router)
      .value;
}

const LinkSpec kWire{{50e9}, {1e-6}};

}  // namespace

TEST_CASE("a network that is not described never limits") {
  const Cluster c = build_cluster(design(4, 1, kWire, TreeFabric{}));
  Router router(c.topology);
  CHECK(channel_names(c.topology, router.path(0, 3)) ==
        Names{"node0/nic0 -> network", "network -> node3/nic0"});
}

// Four nodes a leaf, two uplinks: four messages over two of them.
TEST_CASE("two-to-one oversubscription halves the rate between leaves and not within one") {
  const TreeFabric fabric{4, 1, {{2, 2, kWire}}};
  const Cluster c = build_cluster(design(8, 1, kWire, fabric));
  Router router(c.topology);
  const auto time = [&](int shift) {
    CollectivePlan plan;
    for (int i = 0; i < 4; ++i) { plan.transfers.push_back({i, (i + shift) % 8, 50e9}); }
    return time_alone(plan, c.topology, router).value;
  };
  CHECK(time(4) == Approx(2.0));
  const CollectivePlan near{"", {}, {{0, 1, 50e9}, {1, 2, 50e9}, {2, 3, 50e9}, {3, 0, 50e9}}};
  CHECK(time_alone(near, c.topology, router).value == Approx(1.0));
}

// Routing by destination is free of contention for shifts in a full fat tree
//   [Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global
//    collectives", JPDC 72, 2012].
TEST_CASE("no two messages of any shift share a link of a full three-level fat tree") {
  const TreeFabric fabric{2, 1, {{2, 2, kWire}, {4, 2, kWire}}};
  const Cluster c = build_cluster(design(16, 1, kWire, fabric));
  Router router(c.topology);
  for (int shift = 1; shift < 16; ++shift) {
    CAPTURE(shift);
    CHECK(most_shared(c.topology, router, [&](int i) { return (i + shift) % 16; }) <= 1);
  }
}

TEST_CASE("a fat tree's messages climb no higher than they must") {
  const TreeFabric fabric{2, 1, {{2, 2, kWire}, {4, 2, kWire}}};
  const Cluster c = build_cluster(design(16, 1, kWire, fabric));
  Router router(c.topology);
  CHECK(router.path(0, 1).channels.size() == 2);  // two NIC wires
  CHECK(router.path(0, 2).channels.size() == 4);  // and leaf to second level and back
  CHECK(router.path(0, 4).channels.size() == 6);
}

TEST_CASE("replicas in different racks share the racks' uplinks") {
  const TreeFabric racks{4, 1, {{2, 1, {{100e9}, {}}}}};
  const Cluster c = build_cluster(design(8, 1, kWire, racks));
  Router router(c.topology);
  CollectivePlan plan;
  for (int i = 0; i < 4; ++i) { plan.transfers.push_back({i, i + 4, 50e9}); }
  CHECK(time_alone(plan, c.topology, router).value == Approx(2.0));  // 200 GB over 100 GB/s
}

// NVIDIA/nccl issues 2193 and 918: 7/8 of the bytes that leave a node change the rail.
TEST_CASE("an all-to-all over a half-rate spine between rails takes 1.75 times as long") {
  const auto flat = design(2, 8, kWire, TreeFabric{0, 8, {{8, 1, {{100e9}, {}}}}});
  const auto half = design(2, 8, kWire, TreeFabric{0, 8, {{8, 1, {{50e9}, {}}}}});
  CHECK(all_to_all(half, 4_GiB) / all_to_all(flat, 4_GiB) == Approx(1.75).epsilon(0.001));
}

TEST_CASE("without a spine a message to another rail is refused with the pair named") {
  const Cluster c = build_cluster(design(2, 8, kWire, TreeFabric{0, 8, {}}));
  Router router(c.topology);
  CHECK(router.path(3, 11).channels.size() == 2);
  try {
    router.path(3, 12);
    FAIL("expected Unreachable");
  } catch (const Unreachable& e) {
    CHECK(e.from == "node0/gpu3");
    CHECK(e.to == "node1/gpu4");
  }
}

TEST_CASE("every two groups of a dragonfly have one link and routes take it") {
  const Dragonfly fabric{9, 4, 2, {{40e9}, {1e-7}}, {{20e9}, {1e-6}}};
  const Cluster c = build_cluster(design(72, 1, kWire, fabric));
  const Topology& t = c.topology;
  std::map<std::string, int> globals;  // by router
  for (const Link& link : t.links) {
    if (link.kind != LinkKind::fabric || link.bandwidth.value != 20e9) { continue; }
    ++globals[t.vertices[static_cast<std::size_t>(link.a)].name];
    ++globals[t.vertices[static_cast<std::size_t>(link.b)].name];
  }
  CHECK(globals.size() == 36);  // 9 groups of 4 routers, 8 / 4 = 2 links each
  CHECK(std::ranges::all_of(globals, [](const auto& g) { return g.second == 2; }));
  Router router(t);
  for (int to = 1; to < 72; ++to) {
    // At most local, global, local between two NIC wires.
    CHECK(router.path(0, to).channels.size() <= 5);
  }
}

TEST_CASE("a torus is crossed along the first dimension first, the shorter way round") {
  const Cluster c = build_cluster(design(12, 1, kWire, Torus{{4, 3}, 1, {{10e9}, {1e-7}}}));
  Router router(c.topology);
  CHECK(channel_names(c.topology, router.path(0, 5)) ==
        Names{"node0/nic0 -> router0", "router0 -> router1", "router1 -> router5",
              "router5 -> node5/nic0"});
  CHECK(channel_names(c.topology, router.path(0, 11)) ==
        Names{"node0/nic0 -> router0", "router0 -> router3", "router3 -> router11",
              "router11 -> node11/nic0"});
}

TEST_CASE("a row of two routers in a torus has one link, not two") {
  const Cluster c = build_cluster(design(4, 1, kWire, Torus{{2, 2}, 1, {{10e9}, {1e-7}}}));
  const auto fabric = [](const Link& l) { return l.kind == LinkKind::fabric; };
  CHECK(std::ranges::count_if(c.topology.links, fabric) == 4);
}

TEST_CASE("a fabric knows how many nodes it has room for") {
  CHECK(capacity(Torus{{4, 3}, 2, {}}) == 24);
  CHECK(capacity(Dragonfly{9, 4, 2, {}, {}}) == 72);
  CHECK(capacity(TreeFabric{}) > 1000000);
}
