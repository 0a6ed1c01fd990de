#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "cost/build_cluster.hpp"
#include "sim/input/import/import_topo.hpp"
#include "sim/input/import/smi_matrix.hpp"
#include "tests/sim/input/import/matrices.hpp"
#include "tests/sim/input/inputs.hpp"

namespace tsim::sim {
namespace {

cost::ClusterDesign design_of(const std::string& text, const ImportOptions& options = {}) {
  Problems problems;
  const ImportedCluster imported = import_topology(text, options, problems);
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  return std::get<cost::ClusterDesign>(imported.cluster);
}

Texts problems_of(const std::string& text) {
  Problems problems;
  import_topology(text, {}, problems);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

/// Cells that the paths of the imported node contradict; "NV" stands for any number of lanes.
Texts differences(const std::string& text) {
  Problems problems;
  const std::optional<SmiMatrix> matrix = read_smi_matrix(text, problems);
  REQUIRE(matrix);
  const cost::Cluster cluster = build_cluster(design_of(text));
  cost::Router router(cluster.topology);
  std::vector<cost::VertexId> ends;
  for (const std::string_view kind : {"gpu", "nic"}) {
    for (std::size_t v = 0; v < cluster.topology.vertices.size(); ++v) {
      const bool of_kind = cluster.topology.vertices[v].name.find(kind) != std::string::npos;
      if (of_kind) { ends.push_back(static_cast<cost::VertexId>(v)); }
    }
  }
  REQUIRE(ends.size() == matrix->cards.size());
  Texts wrong;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t j = 0; j < ends.size(); ++j) {
      if (i == j) { continue; }
      const SmiLink& link = matrix->link(i, j);
      const std::string expected = link.lanes > 0 ? "NV" : std::string(name_of(link.closeness));
      const std::string found = class_of(cluster.topology, router.vertex_path(ends[i], ends[j]));
      if (found == expected) { continue; }
      wrong.push_back(matrix->cards[i].name + "-" + matrix->cards[j].name + " is " + found +
                      ", expected " + expected);
    }
  }
  return wrong;
}

double rate_between(const std::string& text, int a, int b) {
  const cost::Cluster cluster = build_cluster(design_of(text));
  cost::Router router(cluster.topology);
  double least = 1e300;
  for (const cost::ChannelId c : router.path(a, b).channels) {
    const double rate = cluster.topology.channels[static_cast<std::size_t>(c)].bandwidth.value;
    least = std::min(least, rate);
  }
  return least;
}

/// A tab in place of each ~.
std::string with_tabs(std::string text) {
  std::replace(text.begin(), text.end(), '~', '\t');
  return text;
}

}  // namespace

TEST_CASE("every pair of an imported node has the class that the matrix shows") {
  CHECK(differences(kEightV100) == Texts{});
  CHECK(differences(kFourCards) == Texts{});
  CHECK(differences(kEscaped) == Texts{});
}

TEST_CASE("a DGX-1's mesh keeps its unequal lanes, and six links a device") {
  const cost::NodeDesign node = design_of(kEightV100).nodes[0].node;
  std::vector<int> lanes(8, 0);
  for (const cost::PeerLink& pair : node.peers.pairs) {
    lanes[static_cast<std::size_t>(pair.a)] += pair.lanes;
    lanes[static_cast<std::size_t>(pair.b)] += pair.lanes;
  }
  CHECK(lanes == std::vector<int>(8, 6));
  CHECK(node.peers.planes.empty());
  CHECK(rate_between(kEightV100, 0, 3) == doctest::Approx(50e9));  // NV2 of V100: 2 x 25 GB/s
  CHECK(rate_between(kEightV100, 0, 1) == doctest::Approx(25e9));
}

TEST_CASE("cards of two NUMA nodes and their NICs keep to their sockets") {
  const cost::NodeDesign node = design_of(kFourCards).nodes[0].node;
  const auto socket_of = [&](const cost::Slot& slot) {
    const int bridge = slot.at == cost::SlotAt::pcie_switch
                           ? node.host.switches[static_cast<std::size_t>(slot.index)].index
                           : slot.index;
    return node.host.bridges[static_cast<std::size_t>(bridge)];
  };
  REQUIRE(node.devices.size() == 4);
  REQUIRE(node.nics.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(socket_of(node.devices[i].slot) == static_cast<int>(i / 2));
    CHECK(socket_of(node.nics[i].slot) == static_cast<int>(i / 2));
  }
}

TEST_CASE("equal links of all pairs are a switch where no device has so many, else pairs") {
  // 7 x 12 = 84 NVLinks would be needed; an A100 has 12, an H100 18.
  const cost::NodeDesign a100 = design_of(linked_matrix(8, 12)).nodes[0].node;
  REQUIRE(a100.peers.planes.size() == 1);
  CHECK(a100.peers.planes[0].bandwidth.value == doctest::Approx(300e9));
  const cost::ClusterDesign h100 = design_of(linked_matrix(8, 18));
  CHECK(h100.devices[0].name == "h100-sxm-80g");
  CHECK(h100.nodes[0].node.peers.planes[0].bandwidth.value == doctest::Approx(450e9));
  const cost::NodeDesign bridged = design_of(linked_matrix(2, 2)).nodes[0].node;
  CHECK(bridged.peers.planes.empty());
  CHECK(bridged.peers.pairs == std::vector<cost::PeerLink>{{0, 1, 2}});
  // Four A100 of an HGX board: 3 x 4 = 12.
  CHECK(design_of(linked_matrix(4, 4)).nodes[0].node.peers.pairs.size() == 6);
}

TEST_CASE("cards behind NVLink are placed by their NUMA node") {
  const cost::NodeDesign node = design_of(linked_matrix(8, 18)).nodes[0].node;
  CHECK(node.host.bridges == std::vector<int>{0, 1});
  CHECK(node.devices[3].slot.index == 0);
  CHECK(node.devices[4].slot.index == 1);
}

TEST_CASE("flags set the device, the rates and the number of nodes") {
  ImportOptions options;
  options.device = "v100-sxm2-32g";
  options.nodes = 3;
  options.pcie_generation = 5;
  options.nvlink_lane = BytesPerSecond{10e9};
  options.nic = BytesPerSecond{7e9};
  const cost::ClusterDesign design = design_of(kEightV100, options);
  CHECK(design.devices[0].name == "v100-sxm2-32g");
  CHECK(design.nodes[0].count == 3);
  const cost::NodeDesign& node = design.nodes[0].node;
  CHECK(node.peers.lane.bandwidth.value == 10e9);
  CHECK(node.nics[0].wire.bandwidth.value == 7e9);
  CHECK(node.devices[0].slot.link.bandwidth.value == doctest::Approx(48e9));  // 12 x 32/8
}

TEST_CASE("several nodes need a NIC in the matrix") {
  ImportOptions options;
  options.nodes = 2;
  Problems problems;
  import_topology(linked_matrix(2, 2), options, problems);
  REQUIRE(problems.errors().size() == 1);
  CHECK(problems.errors()[0].path == "--nodes");
}

TEST_CASE("one device, no columns behind the cells, and the words of other vendors are read") {
  CHECK(design_of("GPU0 CPU Affinity\nGPU0 X 0-7\n").nodes[0].node.devices.size() == 1);
  CHECK(design_of("GPU0 GPU1\nGPU0 X PXB\nGPU1 PXB X\n").nodes[0].node.host.switches.size() == 3);
  const cost::ClusterDesign npus = design_of("NPU0 NPU1\nNPU0 X HCCS\nNPU1 HCCS X\n");
  CHECK(npus.devices[0].name == "ascend910");
  CHECK(npus.nodes[0].node.peers.pairs.size() == 1);
  const cost::NodeDesign amd = design_of(with_tabs(R"(
===== Weight between two GPUs =====
       GPU0   GPU1
GPU0   0      15
GPU1   15     0
===== Link Type between two GPUs =====
       GPU0   GPU1   GPU2
GPU0   0      XGMI   PCIE
GPU1   XGMI   0      PCIE
GPU2   PCIE   PCIE   0
===== Numa Nodes =====
GPU[0]~~: (Topology) Numa Node: 0
GPU[1]~~: (Topology) Numa Node: 0
GPU[2]~~: (Topology) Numa Node: 1
)"))
                                   .nodes[0]
                                   .node;
  CHECK(amd.peers.pairs == std::vector<cost::PeerLink>{{0, 1, 1}});
  CHECK(amd.host.bridges == std::vector<int>{0, 1});
}

TEST_CASE("an unreadable cell is named by line and column") {
  CHECK(problems_of("GPU0 GPU1\nGPU0 X PIY\nGPU1 PIX X\n") ==
        Texts{"2:8: found \"PIY\" between GPU0 and GPU1, expected X, NV#, PIX, PXB, PHB, NODE or "
              "SYS; hint: did you mean \"PIX\"?"});
  CHECK(problems_of("GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n") ==
        Texts{"2:7: found 1 cells in the row of GPU0, expected 2, one for each card of the head"});
  CHECK(problems_of("GPU0 GPU1\nGPU0 X PIX\n") ==
        Texts{"1:6: found no row of GPU1, expected a row for each card of the head"});
  CHECK(problems_of("GPU0 GPU0\nGPU0 X PIX\n")[0].starts_with("1:6: found \"GPU0\" twice"));
  CHECK(problems_of("GPU0 GPU1\nGPU0 PIX X\nGPU1 PIX X\n")[0].starts_with(
      "2:6: found \"PIX\" between GPU0 and GPU0, expected X"));
}

TEST_CASE("cells that contradict each other are named") {
  CHECK(problems_of("GPU0 GPU1\nGPU0 X PIX\nGPU1 SYS X\n") ==
        Texts{"3:6: found GPU1 to GPU0 unlike the way back at 2:8, expected the same link both "
              "ways"});
  // 0-1 and 1-2 at one switch, 0-2 across sockets: no tree has that.
  const Texts texts =
      problems_of("GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X PIX\nGPU2 SYS PIX X\n");
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].starts_with("2:12: found SYS between GPU0 and GPU2"));
}

TEST_CASE("a text without a matrix is refused") {
  CHECK(problems_of("no devices were found\n")[0].starts_with("found no matrix"));
  CHECK(problems_of("")[0].starts_with("found no matrix"));
}

TEST_CASE("random trees of cards keep the class of every pair") {
  constexpr std::array kWords{"PIX", "PXB", "PHB", "NODE", "SYS"};
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    // A card's address, from the socket down to the switch: the first place in which two addresses
    // differ gives their class.
    const std::size_t cards = 2 + random() % 9;
    std::vector<std::array<unsigned, 4>> address(cards);
    for (auto& a : address) {
      for (unsigned& part : a) { part = random() % 2; }
    }
    std::string text;
    for (std::size_t i = 0; i < cards; ++i) { text += "GPU" + std::to_string(i) + " "; }
    for (std::size_t i = 0; i < cards; ++i) {
      text += "\nGPU" + std::to_string(i);
      for (std::size_t j = 0; j < cards; ++j) {
        std::size_t shared = 0;
        while (shared < 4 && address[i][shared] == address[j][shared]) { ++shared; }
        text += i == j ? " X" : std::string(" ") + kWords[4 - shared];
      }
    }
    CAPTURE(text);
    CHECK(differences(text) == Texts{});
  }
}

}  // namespace tsim::sim
