// What users reported of topologies, stated in cluster files.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "cost/collectives.hpp"
#include "sim/input/read_cluster.hpp"

using namespace tsim;
using doctest::Approx;

namespace {

cost::Cluster read(const std::string& text) {
  sim::Problems problems;
  const sim::Source source{.problems = &problems};
  const sim::Json json = sim::Json::parse(text);
  cost::Cluster cluster = read_cluster(sim::Place{&json, "/cluster", &source}, {});
  for (const sim::InputError& error : problems.errors()) { FAIL_CHECK(to_text(error)); }
  return cluster;
}

/// Bytes/s of all these messages together, each as long as the others.
double rate_together(const cost::Cluster& cluster, const std::vector<std::pair<int, int>>& pairs) {
  cost::Router router(cluster.topology);
  std::map<cost::ChannelId, double> messages;
  for (const auto& [from, to] : pairs) {
    for (const cost::ChannelId c : router.path(from, to).channels) { messages[c] += 1; }
  }
  double slowest = 0;
  for (const auto& [c, count] : messages) {
    const cost::Channel& channel = cluster.topology.channels[static_cast<std::size_t>(c)];
    slowest = std::max(slowest, count / channel.bandwidth.value);
  }
  return static_cast<double>(pairs.size()) / slowest;
}

/// Two nodes of two cards in root ports of their own, with the NICs and switches given.
cost::Cluster two_nodes(const std::string& switches, const std::string& nics) {
  return read(R"({"device": "a100-pcie-40g", "nodes": [{"count": 2, "node": {
      "devices": [{"count": 2, "slot": {"bridge": 0}}],
      "host": {"bridges": [0], "slot": {"bandwidth": "24 GB/s", "latency": "1 us"},
               "switches": )" +
              switches + R"(}, "nics": )" + nics + "}}]}");
}

const std::string kWire = R"("wire": {"bandwidth": "200 Gb/s", "latency": "2 us"})";

/// Two nodes of eight, a NIC a device, each on a rail of its own; `levels` join the rails.
cost::Cluster rails(const std::string& levels) {
  std::string nics;
  for (int i = 0; i < 8; ++i) {
    nics += (i == 0 ? "" : ", ") + std::string(R"({"serves": [)") + std::to_string(i) +
            R"(], "wire": {"bandwidth": "50 GB/s", "latency": "0 us"}})";
  }
  return read(R"({"device": "h100-sxm-80g", "nodes": [{"count": 2, "node": {"devices": 8,
      "nvswitch": {"planes": [{"bandwidth": "450 GB/s", "latency": "0 us"}]},
      "nics": [)" +
              nics + R"(]}}], "fabric": {"kind": "tree", "rails": 8, "levels": )" + levels + "}}");
}

double all_to_all(const cost::Cluster& cluster, std::string_view algorithm) {
  cost::Router router(cluster.topology);
  std::vector<int> devices;
  for (int d = 0; d < device_count(cluster); ++d) { devices.push_back(d); }
  const auto plan =
      plan_collective(cost::CollectiveOp::all_to_all, algorithm, devices, Bytes{1LL << 32}, router);
  return time_alone(plan, cluster.topology, router).value;
}

}  // namespace

// NVIDIA/nccl issue 439: 24 GB/s with both NICs below one PCIe 4.0 x16 port, 48 on their own.
TEST_CASE("two NICs behind one uplink carry what one does") {
  const std::string below = R"([{"count": 2, "slot": {"switch": 0}, )" + kWire + "}]";
  const std::string apart = R"([{"count": 2, "slot": {"bridge": 0}, )" + kWire + "}]";
  const cost::Cluster shared = two_nodes(R"([{"bridge": 0}])", below);
  const cost::Cluster own = two_nodes("[]", apart);
  CHECK(rate_together(shared, {{0, 2}, {1, 3}}) == Approx(24e9).epsilon(0.1));
  CHECK(rate_together(own, {{0, 2}, {1, 3}}) == Approx(48e9).epsilon(0.1));
}

// NVIDIA/nccl issue 412: 16 GB/s instead of 24 when the NIC hangs from the CPU.
TEST_CASE("a NIC at the CPU's root port is slower than one beside the device") {
  const auto box = [](const std::string& slot) {
    return read(R"({"device": "a100-sxm-80g", "nodes": [{"count": 2, "node": {"devices": 2,
        "pcie": {"devices_per_switch": 2, "card": {"bandwidth": "24 GB/s", "latency": "1 us"}},
        "nics": [{"slot": )" +
                slot + ", " + kWire + "}]}}]}");
  };
  const cost::Cluster beside = box(R"({"beside": 0, "bandwidth": "24 GB/s", "latency": "1 us"})");
  const cost::Cluster at_cpu = box(R"({"bridge": 0, "bandwidth": "16 GB/s", "latency": "2 us"})");
  CHECK(rate_together(beside, {{0, 2}}) == Approx(24e9).epsilon(0.15));
  CHECK(rate_together(at_cpu, {{0, 2}}) == Approx(16e9).epsilon(0.15));
  cost::Router near(beside.topology);
  cost::Router far(at_cpu.topology);
  CHECK(far.path(0, 2).latency > near.path(0, 2).latency);
}

// aliyun/SimAI issue 60: links of 1000 + 800 + 800 + 1000 Gb/s to four switches are 450 GB/s.
TEST_CASE("planes of unequal rates are as one of their sum") {
  const auto node = [](const std::string& planes) {
    return read(R"({"device": "h100-sxm-80g", "nodes": [{"node": {"devices": 8,
        "nvswitch": {"planes": [)" +
                planes + "]}}}]}");
  };
  const auto plane = [](const std::string& rate) {
    return R"({"bandwidth": ")" + rate + R"( Gb/s", "latency": "0.5 us"})";
  };
  const cost::Cluster four =
      node(plane("1000") + ", " + plane("800") + ", " + plane("800") + ", " + plane("1000"));
  const cost::Cluster one = node(plane("3600"));
  CHECK(rate_together(four, {{0, 1}}) == Approx(450e9));
  const auto all_reduce = [](const cost::Cluster& cluster) {
    cost::Router router(cluster.topology);
    const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
    const auto plan =
        plan_collective(cost::CollectiveOp::all_reduce, "ring", all, Bytes{1LL << 30}, router);
    return time_alone(plan, cluster.topology, router).value;
  };
  CHECK(all_reduce(four) == Approx(all_reduce(one)).epsilon(0.02));
}

// NVIDIA/nccl issues 2193 and 918: 7/8 of the bytes change the rail; at half rate 1.75 times.
TEST_CASE("an all-to-all on rails is bound by NICs, by a thin spine, or refused with the pair") {
  const std::string spine = R"([{"children": 8, "parents": 1, "latency": "0 us",
                                 "oversubscription": )";
  const cost::Cluster full = rails(spine + "1}]");
  const cost::Cluster half = rails(spine + "2}]");
  const cost::Cluster none = rails("[]");
  CHECK(all_to_all(half, "direct") / all_to_all(full, "direct") == Approx(1.75).epsilon(0.01));
  CHECK(all_to_all(half, "rails") / all_to_all(full, "direct") == Approx(1.0).epsilon(0.05));
  try {
    all_to_all(none, "direct");
    FAIL_CHECK("expected that there is no way");
  } catch (const cost::Unreachable& pair) {
    CHECK(pair.from.starts_with("node0/gpu"));
    CHECK(pair.to.starts_with("node1/gpu"));
  }
}
