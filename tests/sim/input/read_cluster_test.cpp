#include "sim/input/read_cluster.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

const std::string kFolder = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data";

/// The cluster that `text` holds, and what is wrong with it.
struct Read {
  cost::ClusterSpec spec;
  Texts problems;
  Texts warnings;
};
Read read(const std::string& text) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json json = Json::parse(text);
  Read result;
  const ClusterInput input = read_cluster_input(Place{&json, "/cluster", &source}, kFolder);
  if (const auto* spec = std::get_if<cost::ClusterSpec>(&input)) { result.spec = *spec; }
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  result.warnings = problems.warnings();
  return result;
}

}  // namespace

TEST_CASE("one device needs no wiring") {
  const Read r = read(R"({"devices_per_node": 1, "device": "plain"})");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.nodes == 1);
  CHECK(r.spec.device.name == "plain");
}

TEST_CASE("several devices need wiring inside the node, several nodes between them") {
  CHECK(read(R"({"nodes": 2, "devices_per_node": 8, "device": "plain"})").problems ==
        Texts{"/cluster/node: found nothing, expected the wiring inside a node, as "
              "devices_per_node is 8",
              "/cluster/network: found nothing, expected the wiring between nodes, as nodes is 2"});
}

TEST_CASE("a PCIe node takes its switches' keys, and what is left out follows") {
  const Read r = read(R"({"devices_per_node": 4, "device": "plain",
      "node": {"kind": "pcie", "bandwidth": "12 GB/s", "latency": "2 us",
               "devices_per_switch": 2}})");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.node.kind == cost::NodeKind::pcie);
  CHECK(r.spec.node.bandwidth == BytesPerSecond{12e9});
  CHECK(r.spec.node.devices_per_switch == 2);
  CHECK(r.spec.node.uplink_bandwidth == BytesPerSecond{12e9});
  CHECK(r.spec.node.host_latency.value == doctest::Approx(2e-6));
}

TEST_CASE("keys of PCIe switches are unknown to an NVSwitch node") {
  CHECK(read(R"({"devices_per_node": 4, "device": "plain",
      "node": {"kind": "nvswitch", "bandwidth": "300 GB/s", "latency": "1 us",
               "uplink_bandwidth": "1 GB/s"}})")
            .problems ==
        Texts{"/cluster/node/uplink_bandwidth: unknown key; hint: keys here are kind, bandwidth, "
              "latency, in_switch_reduction"});
}

TEST_CASE("an unknown kind of node is one problem, not one for each of its keys") {
  CHECK(read(R"({"devices_per_node": 4, "device": "plain",
      "node": {"kind": "pcie3", "bandwidth": "12 GB/s", "latency": "1 us",
               "devices_per_switch": 2}})")
            .problems ==
        Texts{"/cluster/node/kind: found \"pcie3\", expected one of nvswitch, pcie, direct; hint: "
              "did you mean \"pcie\"?"});
}

TEST_CASE("a network has its defaults") {
  const Read r = read(R"({"nodes": 2, "devices_per_node": 1, "device": "plain",
      "network": {"bandwidth": "100 Gb/s", "latency": "5 us"}})");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.network.nics_per_node == 1);
  CHECK(r.spec.network.bandwidth == BytesPerSecond{12.5e9});
  CHECK(r.spec.network.efficiency == 1.0);
}

TEST_CASE("an efficiency is a share above zero") {
  CHECK(read(R"({"nodes": 2, "devices_per_node": 1, "device": "plain",
      "network": {"bandwidth": "100 Gb/s", "latency": "5 us", "efficiency": 0}})")
            .problems ==
        Texts{"/cluster/network/efficiency: found 0, expected a number above 0, at most 1"});
  CHECK(read(R"({"nodes": 2, "devices_per_node": 1, "device": "plain",
      "network": {"bandwidth": "100 Gb/s", "latency": "5 us", "efficiency": 90}})")
            .problems ==
        Texts{"/cluster/network/efficiency: found 90, expected a number above 0, at most 1"});
}

TEST_CASE("clusters larger than memory are refused") {
  CHECK(read(R"({"nodes": 100000, "devices_per_node": 8, "device": "plain",
      "node": {"kind": "nvswitch", "bandwidth": "300 GB/s", "latency": "1 us"},
      "network": {"bandwidth": "100 Gb/s", "latency": "5 us"}})")
            .problems ==
        Texts{"/cluster/nodes: found nodes*devices_per_node = 800000, expected at most 100000 "
              "devices"});
  CHECK(read(R"({"devices_per_node": 64, "device": "plain",
      "node": {"kind": "direct", "bandwidth": "25 GB/s", "latency": "1 us"}})")
            .problems ==
        Texts{"/cluster/node/kind: found \"direct\" with 64 devices, expected at most 32 devices "
              "that are linked pair by pair; hint: \"nvswitch\""});
}

TEST_CASE("links and crossings that look like a slip of the unit are warned of") {
  const Read r = read(R"({"nodes": 2, "devices_per_node": 4, "device": "plain",
      "node": {"kind": "pcie", "bandwidth": "252 GB/s", "latency": "2 ms"},
      "network": {"bandwidth": "100 Gb/s", "latency": "5 us"}})");
  CHECK(r.problems == Texts{});
  CHECK(r.warnings ==
        Texts{"/cluster/node/bandwidth: 252 GB/s is 1.96875 times the fastest PCIe link there is "
              "(6.0 x16, 128 GB/s); hint: did you mean \"252 Gb/s\"?",
              "/cluster/node/latency: 2 ms is slow for one crossing; hint: check the unit"});
}

TEST_CASE("a cluster file is found by name and by path") {
  for (const char* name : {"\"pair\"", "\"clusters/pair.json\""}) {
    CAPTURE(name);
    const Read r = read(name);
    CHECK(r.problems == Texts{});
    CHECK(r.spec.name == "pair");
    CHECK(r.spec.devices_per_node == 2);
  }
}

TEST_CASE("a cluster file may be changed key by key") {
  const Read r = read(R"({"base": "pair", "devices_per_node": 4, "node": {"latency": "3 us"}})");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.name == "pair, changed");
  CHECK(r.spec.devices_per_node == 4);
  CHECK(r.spec.node.latency.value == doctest::Approx(3e-6));
  CHECK(r.spec.node.bandwidth == BytesPerSecond{50e9});  // the file's
}

TEST_CASE("a problem in a cluster file names the file") {
  CHECK(read("\"broken\"").problems ==
        Texts{kFolder + "/clusters/broken.json: /devices_per_node: found 0, expected a whole "
                        "number >= 1"});
}

TEST_CASE("a cluster that does not exist is refused with the nearest name") {
  CHECK(read("\"piar\"").problems[0].ends_with("hint: did you mean \"pair\"?"));
  CHECK(read("\"no/such.json\"").problems[0].ends_with("hint: no such file"));
}

TEST_CASE("an unknown device is refused with the nearest name") {
  const Texts texts = read(R"({"devices_per_node": 1, "device": "plian"})").problems;
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].starts_with("/cluster/device: found \"plian\", expected one of "));
  CHECK(texts[0].ends_with("; hint: did you mean \"plain\"?"));
}

TEST_CASE("a device may be inline, or a known one with changes") {
  const Read inline_device = read(R"({"devices_per_node": 1, "device": {"name": "mine",
      "memory": "16 GiB", "memory_bandwidth": "1 TB/s", "matrix_peaks": {"fp16": "100 TFLOP/s"},
      "vector_peak": "10 TFLOP/s"}})");
  CHECK(inline_device.problems == Texts{});
  CHECK(inline_device.spec.device.name == "mine");
  const Read changed = read(R"({"devices_per_node": 1, "device": {"base": "plain",
      "memory": "16 GiB", "matrix_peaks": {"fp16": "100 TFLOP/s"}}})");
  CHECK(changed.problems == Texts{});
  CHECK(changed.spec.device.name == "plain, changed");
  CHECK(changed.spec.device.memory == Bytes{16LL << 30});
  CHECK(peak(changed.spec.device, models::DType::fp16) == FlopsPerSecond{100e12});
  CHECK(peak(changed.spec.device, models::DType::bf16) == FlopsPerSecond{300e12});  // the base's
}

TEST_CASE("problems of an inline or changed device carry their place in the scenario") {
  CHECK(read(R"({"devices_per_node": 1, "device": {"base": "plain", "memory": 16}})").problems ==
        Texts{"/cluster/device/memory: found 16 (a number without a unit), expected a size with "
              "its unit, such as \"80 GiB\" or \"25 MB\"; hint: \"16 GiB\" or \"16 GB\""});
  CHECK(read(R"({"devices_per_node": 1, "device": {"base": "plian"}})").problems.size() == 1);
  CHECK(read(R"({"devices_per_node": 1, "device": 3})").problems ==
        Texts{"/cluster/device: found 3, expected a text"});
}
