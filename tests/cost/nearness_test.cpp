#include "cost/routing/nearness.hpp"

#include <doctest/doctest.h>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::cost;

namespace {

using Matrix = std::vector<std::vector<std::string>>;

Cluster cluster_of(NodeDesign node) {
  return build_cluster(ClusterDesign{"test", {Device{}}, {{std::move(node), 1}}, {}});
}

Matrix matrix_of(const Cluster& c) {
  Matrix texts;
  for (const auto& row : nearness_matrix(c.topology, cards_of_node(c.topology, 0))) {
    texts.emplace_back();
    for (const Nearness& near : row) { texts.back().push_back(text_of(near)); }
  }
  return texts;
}

const LinkSpec kPcie{{12e9}, {1e-6}}, kUpi{{20e9}, {5e-7}};

PcieShape two_sockets(int devices, int per_switch) {
  return {.devices = devices,
          .sockets = 2,
          .devices_per_switch = per_switch,
          .card = kPcie,
          .uplink = kPcie,
          .socket_link = kUpi};
}

}  // namespace

// `nvidia-smi topo -m` of a server of the DGX-1's shape: eight V100, one ConnectX card beside GPUs
// 2 and 3; each PCIe switch has a host bridge of its own, two to a socket.
TEST_CASE("a cube mesh's matrix is that which nvidia-smi prints") {
  NodeDesign node;
  node.host.bridges = {0, 0, 1, 1};
  node.host.socket_link = kUpi;
  for (int s = 0; s < 4; ++s) { node.host.switches.push_back({SlotAt::host_bridge, s, kPcie}); }
  for (int d = 0; d < 8; ++d) { node.devices.push_back({0, {SlotAt::pcie_switch, d / 2, kPcie}}); }
  node = with_nic_beside(with_cube_mesh(std::move(node), {{25e9}, {1e-6}}), 2, {{12.5e9}, {}});
  CHECK(matrix_of(cluster_of(node)) ==
        Matrix{{"X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS", "NODE"},
               {"NV1", "X", "NV2", "NV1", "SYS", "NV2", "SYS", "SYS", "NODE"},
               {"NV1", "NV2", "X", "NV2", "SYS", "SYS", "NV1", "SYS", "PIX"},
               {"NV2", "NV1", "NV2", "X", "SYS", "SYS", "SYS", "NV1", "PIX"},
               {"NV2", "SYS", "SYS", "SYS", "X", "NV1", "NV1", "NV2", "SYS"},
               {"SYS", "NV2", "SYS", "SYS", "NV1", "X", "NV2", "NV1", "SYS"},
               {"SYS", "SYS", "NV1", "SYS", "NV1", "NV2", "X", "NV2", "SYS"},
               {"SYS", "SYS", "SYS", "NV1", "NV2", "NV1", "NV2", "X", "SYS"},
               {"NODE", "NODE", "PIX", "PIX", "SYS", "SYS", "SYS", "SYS", "X"}});
}

TEST_CASE("planes of an NVSwitch add up: six of two links are NV12") {
  const LinkSpec plane{{50e9}, {1e-7}, true, 2};
  const Matrix m = matrix_of(cluster_of(nvswitch_design(8, std::vector<LinkSpec>(6, plane))));
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) { CHECK(m[a][b] == (a == b ? "X" : "NV12")); }
  }
}

TEST_CASE("the way through the PCIe tree is named by the highest thing that it crosses") {
  NodeDesign node = pcie_design(two_sockets(8, 2));
  // A switch under a switch: cards 0 and 8 have two of them between each other.
  node.host.switches.push_back({SlotAt::pcie_switch, 0, kPcie});
  node.devices.push_back({0, {SlotAt::pcie_switch, 4, kPcie}});
  const Matrix m = matrix_of(cluster_of(node));
  CHECK(m[0][1] == "PIX");
  CHECK(m[0][8] == "PXB");
  CHECK(m[0][2] == "PHB");  // another switch in a port of the same bridge
  CHECK(m[0][4] == "SYS");
  CHECK(m[4][0] == "SYS");
}

// Six cards in pairs, two pairs on the first socket: PIX, NODE and SYS, as printed for a server
// of six cards.
TEST_CASE("host bridges of one socket are NODE apart") {
  NodeDesign node;
  node.host.bridges = {0, 0, 1};
  node.host.socket_link = kUpi;
  for (int s = 0; s < 3; ++s) { node.host.switches.push_back({SlotAt::host_bridge, s, kPcie}); }
  for (int d = 0; d < 6; ++d) { node.devices.push_back({0, {SlotAt::pcie_switch, d / 2, kPcie}}); }
  const Matrix m = matrix_of(cluster_of(node));
  CHECK(m[0] == std::vector<std::string>{"X", "PIX", "NODE", "NODE", "SYS", "SYS"});
  CHECK(m[5] == std::vector<std::string>{"SYS", "SYS", "SYS", "SYS", "PIX", "X"});
}

TEST_CASE("a card's socket is that of its root port") {
  NodeDesign node = pcie_design(two_sockets(4, 0));
  node.host.cores = {"0-7", "8-15"};
  const Cluster c = cluster_of(node);
  const auto cores = [&](int device) {
    const VertexId socket =
        socket_of(c.topology, c.topology.devices[static_cast<std::size_t>(device)]);
    return c.topology.vertices.at(static_cast<std::size_t>(socket)).cores;
  };
  CHECK(cores(0) == "0-7");
  CHECK(cores(3) == "8-15");
}

TEST_CASE("cards without a common tree have no way") {
  const Matrix m = matrix_of(cluster_of(with_bridges(pcie_design({.devices = 2}), 4, kPcie)));
  CHECK(m[0][1] == "NV4");
  NodeDesign apart;
  apart.devices.resize(2);
  CHECK(matrix_of(cluster_of(apart))[0][1] == "-");
}
