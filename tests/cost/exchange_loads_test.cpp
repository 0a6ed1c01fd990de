// Messages added up by channel: as if each had been followed along its path.
#include "cost/routing/exchange_loads.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;

namespace {

const LinkSpec kWire{{50e9}, {1e-6}};

ClusterDesign design(int nodes, int devices, Fabric fabric) {
  NodeDesign node = nvswitch_design(devices, {{300_GBps, {1e-6}}});
  for (int i = 0; i < devices; ++i) { node.nics.push_back({{}, kWire, {i}}); }
  return {"test", {Device{}}, {{node, nodes}}, std::move(fabric)};
}

/// Unequal messages, some of them empty.
std::vector<double> uneven(std::size_t n) {
  std::vector<double> sent(n * n);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = i % 5 == 0 ? 0.0 : static_cast<double>(i * 7 % 31);
  }
  return sent;
}

/// The same, one path after another.
ExchangeLoads one_by_one(const std::vector<int>& devices, const std::vector<double>& sent,
                         Router& router) {
  ExchangeLoads loads;
  const Topology& t = router.topology();
  loads.bytes.assign(t.channels.size(), 0.0);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      const double bytes = sent[i * devices.size() + j];
      if (i == j || bytes <= 0) { continue; }
      const Path& path = router.path(devices[i], devices[j]);
      for (const ChannelId c : path.channels) { loads.bytes[static_cast<std::size_t>(c)] += bytes; }
      const bool inside = node_of(t, devices[i]) == node_of(t, devices[j]);
      Seconds& longest = inside ? loads.inside : loads.between;
      longest = std::max(longest, path.latency);
    }
  }
  return loads;
}

void check_alike(const Cluster& cluster, const std::vector<int>& devices) {
  Router router(cluster.topology);
  const std::vector<double> sent = uneven(devices.size());
  const ExchangeLoads at_once = exchange_loads(devices, sent, router);
  const ExchangeLoads each = one_by_one(devices, sent, router);
  REQUIRE(at_once.bytes.size() == each.bytes.size());
  for (std::size_t c = 0; c < each.bytes.size(); ++c) {
    CAPTURE(cluster.topology.channels[c].name);
    CHECK(at_once.bytes[c] == doctest::Approx(each.bytes[c]));
  }
  CHECK(at_once.inside.value == doctest::Approx(each.inside.value));
  CHECK(at_once.between.value == doctest::Approx(each.between.value));
}

}  // namespace

TEST_CASE("an exchange loads every channel as its messages one by one do") {
  const LinkSpec link{{10e9}, {1e-7}};
  const TreeFabric tree{.nodes_per_leaf = 2, .levels = {{4, 3, link}}};
  SUBCASE("in one node") { check_alike(build_cluster(design(1, 4, TreeFabric{})), {0, 2, 3}); }
  SUBCASE("over leaves with several ways up") {
    check_alike(build_cluster(design(8, 2, tree)), first_devices(16));
    check_alike(build_cluster(design(8, 2, tree)), {1, 2, 3, 8, 9, 15});
  }
  SUBCASE("of many ranks over leaves with several ways up") {
    const TreeFabric rails{.nodes_per_leaf = 8, .rails = 2, .levels = {{10, 3, link}}};
    check_alike(build_cluster(design(40, 8, rails)), first_devices(320));
  }
  SUBCASE("in a torus with even and odd rows") {
    check_alike(build_cluster(design(24, 1, Torus{{4, 3, 2}, 1, link})), first_devices(24));
    check_alike(build_cluster(design(24, 1, Torus{{4, 3, 2}, 1, link})), {0, 3, 7, 11, 23});
  }
  SUBCASE("in a torus with two nodes at each router") {
    check_alike(build_cluster(design(12, 2, Torus{{3, 2}, 2, link})), first_devices(24));
  }
  SUBCASE("between groups of a dragonfly") {
    check_alike(build_cluster(design(12, 1, Dragonfly{3, 2, 2, link, link})), first_devices(12));
  }
}

TEST_CASE("devices of a node with several cards choose among their ways") {
  // Cards that serve nobody in particular: a device has one way out for each.
  ClusterSpec spec = nvswitch_node(4, {300e9}, {1e-6});
  spec.nodes = 3;
  spec.network = {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {1e-6}};
  check_alike(build_cluster(spec), first_devices(12));
}
