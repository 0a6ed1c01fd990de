// Clusters by parts and as graphs: what is read, what is refused, and that written ones are read
// back.
#include <doctest/doctest.h>

#include "cost/tunings.hpp"
#include "cost/wiring/node_designs.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/write_cluster.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

const std::string kFolder = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data";

/// A device whose file does not come with tsim: it is written with all its figures.
cost::Device h100() {
  cost::Device device = read_device("h100-sxm-80g");
  device.path.clear();
  return device;
}

cost::Device device_of(const std::string& name) {
  return read_device(kFolder + "/devices/" + name + ".json");
}

struct Read {
  ClusterInput input;
  Texts problems;
  const cost::ClusterDesign& design() const { return std::get<cost::ClusterDesign>(input); }
  const cost::NodeDesign& node() const { return design().nodes.at(0).node; }
};

Read read_json(const Json& json) {
  Problems problems;
  const Source source{.problems = &problems};
  Read result;
  result.input = read_cluster_input(Place{&json, "/cluster", &source}, kFolder);
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  return result;
}
Read read(const std::string& text) { return read_json(Json::parse(text)); }

/// A design of one group with the node's keys given.
Read read_node(const std::string& keys, const std::string& others = "") {
  return read(R"({"device": "plain", "nodes": [{"node": {)" + keys + "}}]" + others + "}");
}

/// What keeps a cluster from being built, or nothing.
Texts built(const std::string& text) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json json = Json::parse(text);
  const cost::Cluster cluster = read_cluster(Place{&json, "/cluster", &source}, kFolder);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  CHECK(texts.empty() == !cluster.topology.devices.empty());
  return texts;
}

const std::string kLink = R"({"bandwidth": "10 GB/s", "latency": "1 us"})";

/// All that a design can say.
cost::ClusterDesign rich_design() {
  using namespace cost;
  const LinkSpec pcie{{12.3e9}, {1e-6}}, odd{{1e10 / 3}, {1.0 / 7e6}, false};
  NodeDesign box = pcie_design({.devices = 8,
                                .sockets = 2,
                                .devices_per_switch = 2,
                                .card = pcie,
                                .uplink = odd,
                                .socket_link = {{20.8e9}, {5e-7}},
                                .memory = {{76.8e9}, {1e-7}, false}});
  box = with_cube_mesh(std::move(box), {{22.55e9}, {5e-7}});
  box.name = "box";
  box.host.bridge = {{40e9}, {1e-8}};
  box.host.cores = {"0-7", "8-15"};
  box.host.peer_access = false;
  box.host.nic_access = false;
  box.devices[3].kind = 1;
  box.devices[7].slot = {SlotAt::host_bridge, 1, pcie};
  box.nics = {{{SlotAt::device, 1, pcie}, {{12.5e9}, {2e-6}}, {0, 1, 2, 3}},
              {{}, {{25e9}, {2e-6}, false}, {4, 5, 6, 7}}};
  box.drives = {{SlotAt::pcie_switch, 3, {{3.2e9}, {2e-5}}}};
  NodeDesign hub = nvswitch_design(4, {{{125e9}, {2.5e-7}, true, 5}, {{100e9}, {2.5e-7}, true, 4}});
  hub.peers.reduces = true;
  hub.nics = {{{}, {{50e9}, {1e-6}}, {0, 1, 2, 3}}};
  const cost::Device second = h100();
  return {"rich", {device_of("plain"), second}, {{box, 2}, {hub, 3}}, {}, {}};
}

}  // namespace

TEST_CASE("a design states nodes part by part") {
  const Read r = read_node(R"("devices": 4,
      "pcie": {"sockets": 2, "devices_per_switch": 2, "card": )" +
                           kLink + R"(},
      "links": {"lane": )" +
                           kLink + R"(, "pairs": [[0, 1, 2], [2, 3]]},
      "host": {"socket_link": )" +
                           kLink + R"(, "cores": ["0-3", "4-7"]},
      "nics": [{"slot": {"beside": 2, "bandwidth": "8 GB/s", "latency": "1 us"},
                "wire": {"bandwidth": "100 Gb/s", "latency": "2 us"}, "serves": [2, 3]},
               {"count": 2, "slot": {"bridge": 0, "bandwidth": "unlimited"}, "wire": )" +
                           kLink +
                           R"(}],
      "drives": [{"switch": 1, "bandwidth": "3 GB/s", "latency": "10 us", "duplex": "half"}])");
  CHECK(r.problems == Texts{});
  const cost::NodeDesign& n = r.node();
  CHECK(n.host.bridges == std::vector<int>{0, 1});
  CHECK(n.host.switches.size() == 2);
  CHECK(n.devices[3].slot.at == cost::SlotAt::pcie_switch);
  CHECK(n.devices[3].slot.index == 1);
  CHECK(n.peers.pairs == std::vector<cost::PeerLink>{{0, 1, 2}, {2, 3, 1}});
  REQUIRE(n.nics.size() == 3);
  CHECK(n.nics[0].slot.at == cost::SlotAt::pcie_switch);
  CHECK(n.nics[0].slot.index == 1);  // beside device 2
  CHECK(n.nics[0].wire.bandwidth == BytesPerSecond{12.5e9});
  CHECK(n.nics[2].slot.link.bandwidth == cost::kUnlimited);
  CHECK_FALSE(n.drives.at(0).link.full_duplex);
  CHECK(n.host.cores[1] == "4-7");
}

TEST_CASE("patterns spare the list of pairs") {
  const auto pairs = [](const std::string& pattern) {
    const Read r = read_node(R"("devices": 8, "links": {"lane": )" + kLink + ", " + pattern + "}");
    CHECK(r.problems == Texts{});
    return r.node().peers.pairs.size();
  };
  CHECK(pairs(R"("pattern": "all")") == 28);                    // 8 x 7 / 2
  CHECK(pairs(R"("pattern": "groups", "size": 4)") == 12);      // twice 4 x 3 / 2
  CHECK(pairs(R"("pattern": "neighbours", "lanes": 3)") == 4);  // 8 / 2
  CHECK(pairs(R"("pattern": "cube_mesh")") == 16);              // 8 x 4 neighbours / 2
}

TEST_CASE("an oversubscribed level has its share of what comes from below") {
  // Two nodes a leaf with 2 x 12.5 GB/s each: 50 GB/s into a leaf; 2:1 over two parents leaves
  // 12.5 GB/s a link; the next level has 4 x 12.5 below and, 1:1 over one parent, 50 above.
  const Read r = read_node(R"("devices": 2, "links": {"lane": )" + kLink +
                               R"(, "pattern": "all"},
      "nics": [{"serves": [0], "wire": {"bandwidth": "100 Gb/s", "latency": "1 us"}},
               {"serves": [1], "wire": {"bandwidth": "100 Gb/s", "latency": "1 us"}}])",
                           R"(, "fabric": {"kind": "tree", "nodes_per_leaf": 2, "levels": [
      {"children": 4, "parents": 2, "oversubscription": 2, "latency": "1 us"},
      {"children": 2, "parents": 1, "oversubscription": 1}]})");
  CHECK(r.problems == Texts{});
  const auto& tree = std::get<cost::TreeFabric>(r.design().fabric);
  CHECK(tree.levels[0].link.bandwidth.value == doctest::Approx(12.5e9));
  CHECK(tree.levels[0].link.latency.value == doctest::Approx(1e-6));
  CHECK(tree.levels[1].link.bandwidth.value == doctest::Approx(50e9));
}

TEST_CASE("everything that is wrong with a design is told at once") {
  const Texts texts = read(R"({"device": "plain", "nodes": [{"count": 0, "node": {
      "devices": [{"kind": "plian"}, {"slot": {"switch": 3, "bandwidth": "1 GB/s",
                                               "latency": "1 us"}}],
      "nvswitch": {"planes": [{"latency": "1 us"}]},
      "links": {"lane": {"bandwidth": "0 GB/s", "latency": "1 us"}, "pairs": [[0, 2], [1, 1]]},
      "nics": [{"wire": {"bandwidth": 25, "latency": "1 us"}, "serves": [0, 0]}],
      "hosts": {}}}],
      "fabric": {"kind": "tours"}, "tuning": "nccl-a100"})")
                          .problems;
  const std::string at = "/cluster/nodes/0/node";
  CHECK(texts ==
        Texts{"/cluster/nodes/0/count: found 0, expected a whole number >= 1",
              at + "/devices/0/kind: found \"plian\", expected one of plain; hint: did you mean "
                   "\"plain\"?",
              at + "/devices/1/slot/switch: found 3, expected no switch; hint: there is no PCIe "
                   "switch that it could refer to",
              at + "/nvswitch/planes/0/bandwidth: found nothing, expected a rate with its unit, "
                   "such as \"25 GB/s\" or \"200 Gb/s\"",
              at + "/links/lane/bandwidth: found \"0 GB/s\", expected more than zero",
              at + "/links/pairs/0/1: found 2, expected 0 or 1",
              at + "/links/pairs/1: found device 1 linked to itself, expected two devices",
              at + "/nics/0/wire/bandwidth: found 25 (a number without a unit), expected a rate "
                   "with its unit, such as \"25 GB/s\" or \"200 Gb/s\"; hint: \"25 GB/s\" or "
                   "\"25 Gb/s\"",
              at + "/nics/0/serves/1: found device 0 a second time, expected one NIC that serves "
                   "it",
              at + "/hosts: unknown key; hint: did you mean \"host\"?",
              "/cluster/fabric/kind: found \"tours\", expected one of tree, dragonfly, torus; "
              "hint: did you mean \"torus\"?",
              "/cluster/tuning: found \"nccl-a100\", expected an object or one of "
              "nccl-a100-nvswitch, nccl-h100-nvswitch, nccl-h100-efa, "
              "nccl-b200-nvswitch, nccl-h200-pair, "
              "deepep-h800, "
              "nccl-v100-cube-mesh; hint: did you mean \"nccl-a100-nvswitch\"?"});
}

TEST_CASE("sizes that would exhaust the memory are refused before anything is built") {
  const std::string eight = R"("devices": 8, "nvswitch": {"planes": [)" + kLink + "]}";
  CHECK(read(R"({"device": "plain", "nodes": [{"count": 100000, "node": {)" + eight + "}}]}")
            .problems ==
        Texts{"/cluster/nodes: found 800000 devices, expected at most 100000 devices"});
  const Texts wide = read(R"({"device": "plain", "nodes": [{"count": 1000, "node": {)" + eight +
                          R"(}}], "fabric": {"kind": "dragonfly", "groups": 100000, "routers": 1000,
      "local": )" + kLink +
                          R"(, "global": )" + kLink + "}}")
                         .problems;
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].starts_with("/cluster/nodes: found nodes and a fabric of "));
  CHECK(wide[0].ends_with("expected at most 2000000 links"));
}

TEST_CASE("a fabric that is too small for its nodes is refused") {
  CHECK(built(R"({"device": "plain", "nodes": [{"count": 5, "node": {"devices": 1,
      "nics": [{"serves": [0], "wire": )" +
              kLink + R"(}]}}],
      "fabric": {"kind": "torus", "sizes": [2, 2], "link": )" +
              kLink + "}}") == Texts{"/cluster: network: room for 4 nodes, there are 5"});
}

TEST_CASE("devices that nothing joins are refused with the pair") {
  CHECK(built(R"({"device": "plain", "nodes": [{"node": {"devices": 4,
      "links": {"lane": )" +
              kLink + R"(, "pairs": [[0, 1], [2, 3]]}}}]})") ==
        Texts{"/cluster: found no way from node0/gpu0 to node0/gpu2, expected links that join all "
              "devices"});
}

TEST_CASE("kinds of device are named, and a name is one kind's") {
  const Read r = read(R"({"kinds": ["plain", {"base": "plain", "name": "other"}],
      "nodes": [{"node": {"devices": 1}}, {"kind": "other", "node": {"devices": [{}, {"kind":
      "plain"}], "nvswitch": {"planes": [)" +
                      kLink + "]}}}]}");
  CHECK(r.problems == Texts{});
  CHECK(r.design().nodes[0].node.devices[0].kind == 0);
  CHECK(r.design().nodes[1].node.devices[0].kind == 1);
  CHECK(r.design().nodes[1].node.devices[1].kind == 0);
  CHECK(read(R"({"kinds": ["plain", "plain"], "nodes": [{"node": {"devices": 1}}]})").problems ==
        Texts{"/cluster/kinds/1: found a second kind named \"plain\", expected names that differ; "
              "hint: give it a name: {\"base\": ..., \"name\": ...}"});
}

TEST_CASE("a written design is read back to the same") {
  cost::ClusterDesign design = rich_design();
  const cost::LinkSpec link{{25e9}, {3e-7}}, odd{{1e11 / 7}, {1.0 / 3e6}};
  const std::vector<cost::Fabric> fabrics{
      cost::TreeFabric{}, cost::TreeFabric{2, 2, {{4, 2, odd}, {2, 1, link}}},
      cost::Dragonfly{3, 2, 1, link, odd}, cost::Torus{{2, 3}, 1, odd}};
  std::vector<cost::Tuning> tunings{{}, *cost::tuning_named("nccl-a100-nvswitch")};
  tunings.push_back(tunings[1]);
  tunings.back().name = "mine";
  for (const cost::Fabric& fabric : fabrics) {
    for (const cost::Tuning& tuning : tunings) {
      design.fabric = fabric;
      design.tuning = tuning;
      const Json written = to_json(design);
      CAPTURE(written.dump(1));
      const Read r = read_json(written);
      REQUIRE(r.problems == Texts{});
      CHECK(r.design().name == design.name);
      CHECK(r.design().nodes == design.nodes);
      CHECK(r.design().fabric == fabric);
      CHECK(r.design().tuning == tuning);
      CHECK(to_json(r.design()) == written);
    }
  }
}

TEST_CASE("a written device has the same figures, and one that comes with tsim its name") {
  const cost::Device full = h100();
  const Json written = to_json(full);
  Problems problems;
  const Source source{.problems = &problems};
  const cost::Device again = read_device(Place{&written, "", &source}, kFolder);
  CHECK(problems.empty());
  CHECK(again.name == full.name);
  CHECK(again.memory == full.memory);
  CHECK(again.memory_bandwidth == full.memory_bandwidth);
  CHECK(again.vector_peak == full.vector_peak);
  CHECK(again.launch == full.launch);
  CHECK(again.gemm.half_k == full.gemm.half_k);
  CHECK(to_json(again) == written);
  CHECK(to_json(read_device("a100-sxm-80g")) == Json("a100-sxm-80g"));
}

TEST_CASE("a simple cluster's design is written and read back to the same") {
  cost::ClusterSpec spec;
  spec.device = device_of("plain");
  spec.nodes = 2;
  spec.devices_per_node = 4;
  spec.network = {.nics_per_node = 3, .bandwidth = {12.5e9}, .latency = {5e-6}, .efficiency = 0.9};
  for (const cost::NodeKind kind :
       {cost::NodeKind::nvswitch, cost::NodeKind::pcie, cost::NodeKind::direct}) {
    spec.node = {.kind = kind, .bandwidth = {12e9}, .latency = {2e-6}, .devices_per_switch = 2};
    const cost::ClusterDesign design = design_of(spec);
    const Read r = read_json(to_json(design));
    REQUIRE(r.problems == Texts{});
    CHECK(r.design().nodes == design.nodes);
  }
}

TEST_CASE("a written graph is read back to the same") {
  cost::ClusterDesign design = rich_design();
  design.fabric = cost::Torus{{5, 1}, 1, {{25e9}, {1e-6}}};
  const cost::Cluster cluster = build_cluster(design);
  const Json written = to_json(cluster);
  Problems problems;
  const Source source{.problems = &problems};
  const cost::Cluster again = read_cluster(Place{&written, "", &source}, kFolder);
  REQUIRE(problems.empty());
  const cost::Topology &a = cluster.topology, &b = again.topology;
  CHECK(again.nodes == cluster.nodes);
  CHECK(again.devices_per_node == cluster.devices_per_node);
  CHECK(a.devices == b.devices);
  CHECK(a.device_kind == b.device_kind);
  CHECK(a.device_nic == b.device_nic);
  CHECK(a.device_reducer == b.device_reducer);
  CHECK(a.node_kind == b.node_kind);
  CHECK(a.torus.sizes == b.torus.sizes);
  CHECK(a.torus.first == b.torus.first);
  REQUIRE(a.links.size() == b.links.size());
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    CHECK(a.links[i].bandwidth == b.links[i].bandwidth);
    CHECK(a.links[i].latency == b.links[i].latency);
    CHECK(a.links[i].lanes == b.links[i].lanes);
  }
  CHECK(to_json(again) == written);
}

TEST_CASE("everything that is wrong with a graph is told at once") {
  const Texts texts = read(R"({"device": "plain",
      "vertices": [{"name": "gpu0", "kind": "device", "node": 0},
                   {"name": "gpu0", "kind": "device", "node": 0},
                   {"name": "gpu1", "kind": "device"}, {"name": "s", "kind": "pcie_swich"}],
      "links": [{"a": "gpu0", "b": "gpu11", "kind": "pcie", "bandwidth": "1 GB/s", "latency": "1 us"},
                {"a": "gpu0", "b": "gpu0", "kind": "pcie", "latency": "1 us"}],
      "devices": ["gpu0", "gpu0", "s"]})")
                          .problems;
  CHECK(
      texts ==
      Texts{
          "/cluster/vertices/1/name: found a second vertex named \"gpu0\", expected names "
          "that differ",
          "/cluster/vertices/2/node: found nothing, expected the number of the device's node",
          "/cluster/vertices/3/kind: found \"pcie_swich\", expected one of device, nvswitch, "
          "pcie_switch, host_bridge, host_memory, nic, network_switch, nvme, cpu; hint: did "
          "you mean \"pcie_switch\"?",
          "/cluster/links/0/b: found \"gpu11\", expected the name of a vertex in /vertices; hint: "
          "did you mean \"gpu1\"?",
          "/cluster/links/1/bandwidth: found nothing, expected a rate with its unit, such as "
          "\"25 GB/s\" or \"200 Gb/s\"",
          "/cluster/links/1/a: found a vertex linked to itself, expected two vertices",
          "/cluster/devices/1: found device \"gpu0\" a second time, it is number 0, expected each "
          "device once"});
}
