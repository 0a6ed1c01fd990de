#include <doctest/doctest.h>

#include <string>

#include "cost/build_cluster.hpp"
#include "sim/input/import/import_topo.hpp"
#include "tests/sim/input/inputs.hpp"

namespace tsim::sim {
namespace {

ImportedCluster imported_from(const std::string& text) {
  Problems problems;
  ImportedCluster imported = import_topology(text, {}, problems);
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  return imported;
}

cost::NodeDesign node_of(const std::string& text) {
  return std::get<cost::ClusterDesign>(imported_from(text).cluster).nodes[0].node;
}

Texts problems_of(const std::string& text) {
  Problems problems;
  import_topology(text, {}, problems);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

/// A GPU behind two bridges, as in OCI's BM.GPU.H100.8: the uplink reports generation 2.
///   [github.com/oracle-quickstart/oci-hpc, samples/gpu/H100-topology.xml, one of eight]
const std::string kOci = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:08:00.0" class="0x060400" link_speed="5.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0d:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
        <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
          <gpu dev="0" sm="90" rank="0" gdr="1">
            <nvlink target="0000:1c:00.0" count="5" tclass="0x068000"/>
            <nvlink target="0000:1b:00.0" count="5" tclass="0x068000"/>
            <nvlink target="0000:1a:00.0" count="4" tclass="0x068000"/>
            <nvlink target="0000:1d:00.0" count="4" tclass="0x068000"/>
          </gpu>
        </pci>
      </pci>
      <pci busid="0000:0a:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
        <pci busid="0000:0c:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
          <nic>
            <net name="mlx5_0" dev="0" speed="180000" port="1"/>
            <net name="mlx5_1" dev="1" speed="180000" port="2"/>
          </nic>
        </pci>
      </pci>
    </pci>
  </cpu>
</system>)";

}  // namespace

TEST_CASE("speeds and widths become rates as NCCL counts them") {
  // NCCL: width x 240 (of 32 GT/s), 30 (of 5 GT/s) / 80 GB/s   [src/graph/topo.cc]
  const cost::NodeDesign node = node_of(kOci);
  CHECK(node.devices[0].slot.link.bandwidth.value == doctest::Approx(48e9));
  CHECK(node.host.switches[0].link.bandwidth.value == doctest::Approx(6e9));
  CHECK(node.host.switches.size() == 3);
}

TEST_CASE("links to several switches add up, and so do the ports of a NIC") {
  const cost::NodeDesign node = node_of(kOci);
  REQUIRE(node.peers.planes.size() == 1);
  CHECK(node.peers.planes[0].bandwidth.value == doctest::Approx(18 * 25e9));
  REQUIRE(node.nics.size() == 1);
  CHECK(node.nics[0].wire.bandwidth.value == doctest::Approx(2 * 22.5e9));
}

TEST_CASE("a card is named by its PCI device") {
  const ImportedCluster imported = imported_from(kOci);
  CHECK(std::get<cost::ClusterDesign>(imported.cluster).devices[0].name == "h100-sxm-80g");
}

TEST_CASE("static files without gpu elements get the links that the devices have") {
  const cost::NodeDesign node = node_of(R"(<system version="1"><cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:10:1c.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1d.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1b.0" class="0x020000" link_speed="8 GT/s" link_width="16"/>
    </pci></cpu></system>)");
  CHECK(node.devices.size() == 2);
  CHECK(node.nics.size() == 1);
  REQUIRE(node.peers.planes.size() == 1);
  CHECK(node.peers.planes[0].bandwidth.value == doctest::Approx(300e9));
  CHECK(node.devices[1].slot.at == cost::SlotAt::pcie_switch);
  CHECK(node.nics[0].slot.index == node.devices[0].slot.index);
}

TEST_CASE("entries that only name a bus number are GPUs, as many in every cpu, then NICs") {
  // AWS g5.48xlarge: eight A10G and one EFA   [github.com/aws/aws-ofi-nccl, topology/]
  const cost::NodeDesign node = node_of(R"(<system version="1">
  <cpu numaid="0"><pci busid="0000:00:16.0"/><pci busid="0000:00:17.0"/></cpu>
  <cpu numaid="1"><pci busid="0000:00:1a.0"/><pci busid="0000:00:1b.0"/><pci busid="0000:00:15.0"/></cpu>
</system>)");
  CHECK(node.devices.size() == 4);
  REQUIRE(node.nics.size() == 1);
  CHECK(node.nics[0].slot.index == 1);
}

TEST_CASE("an empty speed and a width of nothing are filled as NCCL fills them") {
  const cost::NodeDesign node = node_of(R"(<system version="1"><cpu numaid="0">
    <pci busid="0001:00:00.0" class="0x030200" link_speed="" link_width="0"><gpu dev="0" sm="80">
      <nvlink target="0001:00:00.0" count="12" tclass="0x030200"/></gpu></pci>
    <nic><net name="eth0" dev="0"/></nic></cpu></system>)");
  CHECK(node.devices[0].slot.link.bandwidth.value == doctest::Approx(12e9));
  CHECK(node.peers.pairs.empty());  // a link to itself
  CHECK(node.nics[0].wire.bandwidth.value == doctest::Approx(10e9 / 8));
}

TEST_CASE("xGMI links that both ends name count once") {
  const cost::NodeDesign node = node_of(R"(<system version="2"><cpu numaid="0">
    <pci busid="0000:c1:00.0" class="0x038000"><gpu dev="0" gcn="910"><xgmi target="0000:c5:00.0" count="2" tclass="0x038000"/></gpu></pci>
    <pci busid="0000:c5:00.0" class="0x038000"><gpu dev="1" gcn="910"><xgmi target="0000:c1:00.0" count="2" tclass="0x038000"/></gpu></pci>
  </cpu></system>)");
  CHECK(node.peers.pairs == std::vector<cost::PeerLink>{{0, 1, 2}});
}

TEST_CASE("wrong XML is told with line and column") {
  CHECK(problems_of("<system>\n  <cpu>\n</system>")[0].starts_with("3:"));
  CHECK(problems_of("<system version=\"1\">\n</system>") ==
        Texts{"1:1: found no GPU, expected pci elements of class 0x03 or with a gpu element in "
              "<system>"});
  CHECK(problems_of("<graphs version=\"1\"/>")[0].ends_with(
      "hint: tsim import program reads this file"));
  CHECK(problems_of("<system>\n<cpu>\n<pci busid=\"1\"><gpu><nvlink target=\"2\" count=\"x\"/>"
                    "</gpu></pci></cpu></system>") ==
        Texts{"3:21: <nvlink> count: found \"x\", expected a whole number"});
}

TEST_CASE("an imported node can be built") {
  Problems problems;
  const ImportedCluster imported = import_topology(kOci, {}, problems);
  CHECK(cost::problems(std::get<cost::ClusterDesign>(imported.cluster)).empty());
}

}  // namespace tsim::sim
