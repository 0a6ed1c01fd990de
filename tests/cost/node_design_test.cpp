#include "cost/wiring/node_design.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "cost/collectives.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;
using Names = std::vector<std::string>;

namespace {

const LinkSpec kCard{{12e9}, {1e-6}}, kUplink{{12e9}, {1e-6}}, kUpi{{20e9}, {5e-7}};
const LinkSpec kDram{{80e9}, {1e-7}, false}, kNic{{25e9}, {2e-6}};

PcieShape two_sockets(int devices) {
  return {.devices = devices,
          .sockets = 2,
          .devices_per_switch = 2,
          .card = kCard,
          .uplink = kUplink,
          .socket_link = kUpi,
          .memory = kDram};
}

Cluster cluster_of(NodeDesign node, int nodes = 1) {
  return build_cluster(ClusterDesign{"test", {Device{}}, {{std::move(node), nodes}}, {}});
}

Names path_names(const Cluster& c, int from, int to) {
  Router router(c.topology);
  return channel_names(c.topology, router.path(from, to));
}

BytesPerSecond rate(const Cluster& c, int from, int to) {
  Router router(c.topology);
  BytesPerSecond least = kUnlimited;
  for (const ChannelId i : router.path(from, to).channels) {
    least = std::min(least, c.topology.channels[static_cast<std::size_t>(i)].bandwidth);
  }
  return least;
}

VertexId vertex_named(const Topology& t, std::string_view name) {
  for (std::size_t v = 0; v < t.vertices.size(); ++v) {
    if (t.vertices[v].name == name) { return static_cast<VertexId>(v); }
  }
  return -1;
}

}  // namespace

// NVIDIA DGX-1 with Tesla V100 system architecture: six lanes a GPU, four NVLink neighbours.
TEST_CASE("every GPU of a cube mesh has six lanes to four others") {
  const NodeDesign node = with_cube_mesh(pcie_design(two_sockets(8)), {{25e9}, {1e-6}});
  std::array<int, 8> lanes{}, neighbours{};
  for (const PeerLink& pair : node.peers.pairs) {
    for (const int device : {pair.a, pair.b}) {
      lanes[static_cast<std::size_t>(device)] += pair.lanes;
      ++neighbours[static_cast<std::size_t>(device)];
    }
  }
  for (int i = 0; i < 8; ++i) {
    CHECK(lanes[static_cast<std::size_t>(i)] == 6);
    CHECK(neighbours[static_cast<std::size_t>(i)] == 4);
  }
}

TEST_CASE("a cube mesh's pairs have one lane or two, or go over PCIe and the sockets' link") {
  const Cluster c = cluster_of(with_cube_mesh(pcie_design(two_sockets(8)), {{25e9}, {1e-6}}));
  CHECK(rate(c, 0, 1).value == 25e9);
  CHECK(rate(c, 0, 3).value == 50e9);
  CHECK(path_names(c, 0, 5) == Names{"node0/gpu0 -> node0/pcie0", "node0/pcie0 -> node0/host0",
                                     "node0/cpu0 -> node0/cpu1", "node0/host1 -> node0/pcie2",
                                     "node0/pcie2 -> node0/gpu5"});
}

// aliyun/SimAI issue 60: 1000 + 800 + 800 + 1000 Gb/s to four switches.
TEST_CASE("parallel NVSwitch planes add up") {
  const LinkSpec big{1000_Gbps, {1e-6}}, small{800_Gbps, {1e-6}};
  const Cluster four = cluster_of(nvswitch_design(8, {big, small, small, big}));
  const Cluster one = cluster_of(nvswitch_design(8, {{3600_Gbps, {1e-6}}}));
  const auto time = [](const Cluster& c) {
    Router router(c.topology);
    const auto plan =
        plan_collective(CollectiveOp::all_reduce, "ring", first_devices(8), 1_GiB, router);
    return time_alone(plan, c.topology, router).value;
  };
  CHECK(rate(four, 0, 7).value == Approx(450e9));
  CHECK(time(four) == Approx(time(one)).epsilon(1e-9));
}

TEST_CASE("bridged neighbours use their bridge, others PCIe") {
  const Cluster c = cluster_of(with_bridges(pcie_design(two_sockets(4)), 4, {{25e9}, {1e-6}}));
  CHECK(path_names(c, 2, 3) == Names{"node0/gpu2 -> node0/gpu3"});
  CHECK(rate(c, 2, 3).value == 100e9);
  CHECK(path_names(c, 1, 2).size() == 5);
}

TEST_CASE("groups of four are linked inside and meet over PCIe") {
  const Cluster c = cluster_of(with_linked_groups(pcie_design(two_sockets(8)), 4, {{30e9}, {}}));
  CHECK(path_names(c, 0, 3) == Names{"node0/gpu0 -> node0/gpu3"});
  CHECK(path_names(c, 3, 4).size() == 5);
}

TEST_CASE("without peer access messages pass through host memory, twice over its link") {
  NodeDesign node = pcie_design(two_sockets(4));
  node.host.peer_access = false;
  const Cluster c = cluster_of(node);
  CHECK(path_names(c, 0, 1) == Names{"node0/gpu0 -> node0/pcie0", "node0/pcie0 -> node0/host0",
                                     "node0/cpu0 <-> node0/dram0", "node0/cpu0 <-> node0/dram0",
                                     "node0/host0 -> node0/pcie0", "node0/pcie0 -> node0/gpu1"});
}

TEST_CASE("bridges work without peer access over PCIe") {
  NodeDesign node = with_bridges(pcie_design(two_sockets(4)), 4, {{25e9}, {1e-6}});
  node.host.peer_access = false;
  CHECK(path_names(cluster_of(node), 0, 1) == Names{"node0/gpu0 -> node0/gpu1"});
}

TEST_CASE("each device leaves by the nearest NIC, equally near ones are dealt evenly") {
  NodeDesign node = pcie_design(two_sockets(8));
  for (const int beside : {0, 0, 2, 4, 6, 6}) { node = with_nic_beside(node, beside, kNic); }
  CHECK(nic_of_devices(node) == std::vector<int>{0, 1, 2, 2, 3, 3, 4, 5});
}

TEST_CASE("a NIC only on the other socket is reached across it") {
  const NodeDesign node = with_nic_beside(pcie_design(two_sockets(4)), 0, kNic);
  const Cluster c = cluster_of(node, 2);
  CHECK(path_names(c, 3, 4) == Names{"node0/gpu3 -> node0/pcie1", "node0/pcie1 -> node0/host1",
                                     "node0/cpu1 -> node0/cpu0", "node0/host0 -> node0/pcie0",
                                     "node0/nic0 -> network", "network -> node1/nic0",
                                     "node1/pcie0 -> node1/gpu0"});
}

// NVIDIA/nccl issue 412: about 16 GB/s through the root port instead of 24 under the switch.
TEST_CASE("a NIC in a root port is slower than one beside the GPU when its port is") {
  PcieShape shape{
      .devices = 2, .devices_per_switch = 2, .card = {{24e9}, {}}, .uplink = {{24e9}, {}}};
  NodeDesign beside = with_nic_beside(pcie_design(shape), 0, kNic);
  NodeDesign root = pcie_design(shape);
  root.nics.push_back({{SlotAt::host_bridge, 0, {{16e9}, {}}}, kNic, {}});
  CHECK(rate(cluster_of(beside, 2), 0, 2).value == 24e9);
  CHECK(rate(cluster_of(root, 2), 0, 2).value == 16e9);
}

// NVIDIA/nccl issue 439: 24 GB/s with both NICs below one x16 port, 48 with each on its own.
TEST_CASE("a second NIC under one uplink adds nothing") {
  const LinkSpec x16{{24e9}, {}};
  NodeDesign own = pcie_design({.devices = 2, .card = x16});
  NodeDesign shared = own;
  shared.host.switches.push_back({SlotAt::host_bridge, 0, x16});
  for (int i = 0; i < 2; ++i) {
    own.nics.push_back({{SlotAt::host_bridge, 0, x16}, kNic, {}});
    shared.nics.push_back({{SlotAt::pcie_switch, 0, x16}, kNic, {}});
  }
  const auto total_rate = [](NodeDesign node) {
    const Cluster c = cluster_of(std::move(node), 2);
    Router router(c.topology);
    const CollectivePlan plan{"", {}, {{0, 2, 24e9}, {1, 3, 24e9}}};
    return 48e9 / time_alone(plan, c.topology, router).value;
  };
  CHECK(total_rate(shared) == Approx(24e9));
  CHECK(total_rate(own) == Approx(48e9));
}

TEST_CASE("without direct access to NICs messages leave from host memory") {
  NodeDesign node = with_nic_beside(pcie_design(two_sockets(2)), 0, kNic);
  node.host.nic_access = false;
  const Names names = path_names(cluster_of(node, 2), 0, 2);
  CHECK(std::ranges::count(names, "node0/cpu0 <-> node0/dram0") == 2);
  CHECK(std::ranges::count(names, "node1/cpu0 <-> node1/dram0") == 2);
}

TEST_CASE("host memory and drives are places of the topology") {
  NodeDesign node = pcie_design(two_sockets(4));
  node.drives.push_back({SlotAt::host_bridge, 0, {{7e9}, {}}});
  const Cluster c = cluster_of(node);
  Router router(c.topology);
  const VertexId gpu = c.topology.devices[1];
  CHECK(
      channel_names(c.topology, router.vertex_path(gpu, vertex_named(c.topology, "node0/dram0"))) ==
      Names{"node0/gpu1 -> node0/pcie0", "node0/pcie0 -> node0/host0",
            "node0/cpu0 <-> node0/dram0"});
  CHECK(channel_names(c.topology, router.vertex_path(vertex_named(c.topology, "node0/nvme0"),
                                                     gpu))[0] == "node0/nvme0 -> node0/host0");
}

TEST_CASE("nodes and devices of different kinds share a cluster") {
  NodeDesign big = nvswitch_design(8, {{{450e9}, {}}}), small = nvswitch_design(4, {{{300e9}, {}}});
  for (DeviceDesign& device : small.devices) { device.kind = 1; }
  for (int i = 0; i < 8; ++i) { big.nics.push_back({{}, {{50e9}, {}}, {i}}); }
  small.nics.push_back({{}, {{25e9}, {}}, {0, 1, 2, 3}});
  const Cluster c =
      build_cluster(ClusterDesign{"mixed", {Device{}, Device{}}, {{big, 1}, {small, 2}}, {}});
  CHECK(device_count(c) == 16);
  CHECK(c.topology.device_kind[7] == 0);
  CHECK(c.topology.device_kind[8] == 1);
  CHECK(c.topology.node_kind == std::vector<std::int32_t>{0, 1, 1});
  CHECK(node_of(c.topology, 12) == 2);
  CHECK(rate(c, 0, 12).value == 25e9);
}
