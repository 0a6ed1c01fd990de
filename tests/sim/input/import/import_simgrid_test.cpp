#include "sim/input/import/import_simgrid.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cost/build_cluster.hpp"
#include "sim/input/import/route_factors.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/write_cluster.hpp"
#include "tests/sim/input/inputs.hpp"

namespace tsim::sim {
namespace {

std::string data(const std::string& name) {
  return std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/import/data/" + name + ".xml";
}

ImportedCluster imported_from(const std::string& name) {
  Problems problems;
  ImportedCluster imported = import_simgrid(data(name), {}, problems);
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  return imported;
}

Texts problems_of(const std::string& name) {
  Problems problems;
  import_simgrid(data(name), {}, problems);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

int device_named(const cost::Cluster& cluster, const std::string& name) {
  for (int d = 0; d < device_count(cluster); ++d) {
    const auto v = static_cast<std::size_t>(cluster.topology.devices[static_cast<std::size_t>(d)]);
    if (cluster.topology.vertices[v].name == name) { return d; }
  }
  FAIL("no device ", name);
  return -1;
}

/// Names of the links on the way, as the platform calls them.
Texts links_between(const cost::Cluster& cluster, const std::string& from, const std::string& to) {
  cost::Router router(cluster.topology);
  Texts names;
  const cost::Path& path = router.path(device_named(cluster, from), device_named(cluster, to));
  for (const cost::ChannelId c : path.channels) {
    const std::string& name = cluster.topology.channels[static_cast<std::size_t>(c)].name;
    names.push_back(name.substr(5, name.find(" <-> ") - 5));
  }
  return names;
}

double latency_between(const cost::Cluster& cluster, const std::string& from,
                       const std::string& to) {
  cost::Router router(cluster.topology);
  return router.path(device_named(cluster, from), device_named(cluster, to)).latency.value;
}

}  // namespace

TEST_CASE("hosts of clusters go up, over each backbone and down") {
  // "The route from node-0 to node-2 is: l0.UP ; backbone ; l2.DOWN"
  //   [simgrid/simgrid, examples/platforms/cluster_backbone.xml]
  const auto cluster = std::get<cost::Cluster>(imported_from("backbone").cluster);
  CHECK(links_between(cluster, "a-0", "a-2") ==
        Texts{"a_link_0_UP", "a_backbone", "a_link_2_DOWN"});
  CHECK(links_between(cluster, "a-2", "a-0") ==
        Texts{"a_link_2_UP", "a_backbone", "a_link_0_DOWN"});
  CHECK(links_between(cluster, "a-1", "b-10") ==
        Texts{"a_link_1_UP", "a_backbone", "between", "b_backbone", "b_link_10_DOWN"});
  CHECK(links_between(cluster, "b-10", "a-1") ==
        Texts{"b_link_10_UP", "b_backbone", "between", "a_backbone", "a_link_1_DOWN"});
  CHECK(latency_between(cluster, "a-0", "a-2") == doctest::Approx(600e-6));
  CHECK(latency_between(cluster, "a-1", "b-10") == doctest::Approx(2100e-6));
  CHECK(cluster.devices.size() == 2);  // hosts of 1 and of 2 GFLOP/s
}

TEST_CASE("alike hosts on links of their own are nodes of one design, however many") {
  const ImportedCluster imported = imported_from("star");
  const auto& design = std::get<cost::ClusterDesign>(imported.cluster);
  REQUIRE(design.nodes.size() == 1);
  CHECK(design.nodes[0].count == 600);
  CHECK(cost::problems(design).empty());
  const cost::Cluster cluster = build_cluster(design);
  cost::Router router(cluster.topology);
  CHECK(router.path(0, 599).latency.value == doctest::Approx(100e-6));
  CHECK(router.path(0, 599).channels.size() == 2);
}

TEST_CASE("routes that are no shortest paths are kept, links in both directions shared") {
  const auto cluster = std::get<cost::Cluster>(imported_from("odd_routes").cluster);
  // The FATPIPE never limits: it adds its latency only.
  CHECK(links_between(cluster, "x", "y") == Texts{"long", "short"});
  CHECK(links_between(cluster, "y", "x") == Texts{"short", "long"});
  CHECK(latency_between(cluster, "x", "y") == doctest::Approx(12e-3));
  CHECK(links_between(cluster, "z", "x") == Texts{"short"});
  CHECK(cluster.devices.back().vector_peak.value == doctest::Approx(6e9));  // two cores of 3
}

TEST_CASE("a graph with routes survives being written and read") {
  const auto cluster = std::get<cost::Cluster>(imported_from("backbone").cluster);
  const Json json = to_json(cluster);
  Problems problems;
  const Source source{.problems = &problems};
  const cost::Cluster again = read_cluster(Place{&json, "", &source}, {});
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  CHECK(again.topology.routes == cluster.topology.routes);
  CHECK(links_between(again, "a-1", "b-10") == links_between(cluster, "a-1", "b-10"));
}

TEST_CASE("a platform that is not modelled or not read is refused with the reason") {
  const Texts pipe = problems_of("slow_pipe");
  REQUIRE(pipe.size() == 1);
  CHECK(pipe[0].starts_with("link pipe: found FATPIPE of "));
  const Texts speed = problems_of("bad_speed");
  REQUIRE(speed.size() == 1);
  CHECK(speed[0].starts_with("SimGrid does not read it: "));
  CHECK(speed[0].find("bad_speed.xml") != std::string::npos);
  CHECK(problems_of("none") == Texts{"no such file"});
}

TEST_CASE("routes of hosts that only share a backbone are factored, others are kept pair by pair") {
  // Host i has link i up and 10 + i down; 99 lies between.
  const auto star = [](int from, int to) { return ListedRoute{{from, 99, 10 + to}, 0}; };
  const auto shared = factored({{0, 0, 0, 0}, true}, star);
  REQUIRE(shared);
  CHECK(shared->between.size() == 1);
  CHECK(shared->between.begin()->second.links == std::vector<std::int32_t>{99});
  CHECK(shared->up[2] == std::vector<std::int32_t>{2});
  CHECK(shared->down[3] == std::vector<std::int32_t>{13});
  const auto odd = [](int from, int to) { return ListedRoute{{from * 4 + to}, 0}; };
  const auto pairs = factored({{0, 0, 0, 0}, false}, odd);
  REQUIRE(pairs);
  CHECK(pairs->between.size() == 12);
  CHECK_FALSE(factored({std::vector<int>(600, 0), false}, odd));
}

}  // namespace tsim::sim
