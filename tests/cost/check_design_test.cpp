#include <doctest/doctest.h>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using Problems = std::vector<std::string>;

namespace {

const LinkSpec kLink{{1e9}, {}};

Problems problems_of(NodeDesign node, int nodes = 1, Fabric fabric = {}) {
  node.name.assign(1, 'n');
  return problems(ClusterDesign{"test", {Device{}}, {{std::move(node), nodes}}, std::move(fabric)});
}

NodeDesign good() { return nvswitch_design(2, {kLink}); }

}  // namespace

TEST_CASE("a sound design has no problems") {
  CHECK(problems_of(good()).empty());
  CHECK(problems_of(with_nic_beside(pcie_design({.devices = 4, .card = kLink}), 0, kLink), 3)
            .empty());
  CHECK(problems(design_of(nvswitch_cluster(2, 8, {.bandwidth = {25e9}}))).empty());
}

TEST_CASE("a link without bandwidth is refused") {
  NodeDesign node = good();
  node.peers.planes[0].bandwidth = {};
  CHECK(problems_of(node) == Problems{"n: NVSwitch plane: a link without bandwidth"});
}

TEST_CASE("indices must exist") {
  NodeDesign node = good();
  node.devices[1].kind = 1;
  node.devices[0].slot = {SlotAt::pcie_switch, 0, kLink};
  node.peers.lane = kLink;
  node.peers.pairs = {{0, 2, 1}};
  CHECK(problems_of(node) == Problems{"n: device 0, PCIe switch: index 0 of 0",
                                      "n: device 1, kind: index 1 of 1",
                                      "n: pair 0-2: index 2 of 2"});
}

TEST_CASE("a device that nothing is wired to is named") {
  NodeDesign node;
  node.devices.resize(3);
  node.peers.lane = kLink;
  node.peers.pairs = {{0, 2, 1}};
  CHECK(problems_of(node) == Problems{"n: device 1: linked to nothing"});
}

TEST_CASE("a device linked to itself is refused") {
  NodeDesign node = good();
  node.peers.lane = kLink;
  node.peers.pairs = {{1, 1, 1}};
  CHECK(problems_of(node) == Problems{"n: pair 1-1: a device linked to itself"});
}

TEST_CASE("every device of several nodes needs a NIC") {
  NodeDesign node = good();
  node.nics.push_back({{}, kLink, {0}});
  CHECK(problems_of(node, 2) == Problems{"n: device 1 reaches no NIC, and there are 2 nodes"});
}

TEST_CASE("a fabric must have room for all nodes") {
  NodeDesign node = good();
  node.nics.push_back({{}, kLink, {0, 1}});
  CHECK(problems_of(node, 5, Torus{{2, 2}, 1, kLink}) ==
        Problems{"network: room for 4 nodes, there are 5"});
}

TEST_CASE("messages cannot pass through host memory that is not there") {
  NodeDesign node = pcie_design({.devices = 2, .card = kLink});
  node.host.peer_access = false;
  CHECK(problems_of(node) ==
        Problems{"n: messages go through host memory, which there is none of"});
}

TEST_CASE("counts below one are refused") {
  CHECK(problems_of(good(), 0)[0] == "n: count: 0, expected at least 1");
  CHECK(problems_of(good(), 1, TreeFabric{0, 0, {}})[0] ==
        "network, rails: 0, expected at least 1");
  CHECK(problems_of(good(), 1, Torus{{0}, 1, kLink})[0] == "torus, size: 0, expected at least 1");
  CHECK(problems_of(good(), 1, Dragonfly{1, 1, 0, kLink, kLink})[0] ==
        "dragonfly, nodes per router: 0, expected at least 1");
}

TEST_CASE("slots do not go round in a circle") {
  NodeDesign node = good();
  node.devices[0].slot = {SlotAt::device, 1, kLink};
  node.devices[1].slot = {SlotAt::device, 0, kLink};
  CHECK(problems_of(node) == Problems{"n: device 0: plugged into a device that is not before it"});
}
