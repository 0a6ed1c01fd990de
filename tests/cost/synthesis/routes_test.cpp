#include "cost/synthesis/routes.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cost/synthesis/wires.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::synthesis;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

constexpr Taste kLeastLoad{0, 0.001, 12};

double largest_load(const Ways& ways, std::span<const Demand> demands, Taste taste) {
  const auto routes = find_routes(ways, demands, taste);
  return std::ranges::max(loads(ways, demands, routes));
}

std::vector<Demand> gathers(int ranks, int pieces, double bytes) {
  std::vector<Demand> demands;
  for (int r = 0; r < ranks; ++r) {
    for (int k = 0; k < pieces; ++k) { demands.push_back({r, -1, bytes / (ranks * pieces)}); }
  }
  return demands;
}

}  // namespace

TEST_CASE("on one switch every rank sends straight to every other one") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const Ways ways = ways_of(b, 8);
  for (const Route& route : find_routes(ways, gathers(8, 1, 8e6), {1, 0.05, 12})) {
    for (const RouteHop& hop : route) { CHECK(hop.from == route[0].from); }
  }
}

TEST_CASE("a pair that is linked only by way of others uses their links instead of PCIe") {
  Bench b(cluster_of(cube_mesh()));
  const Ways ways = ways_of(b, 8);
  const std::vector<Demand> demand{{0, 5, 1e6}};
  const auto routes = find_routes(ways, demand, {1, 1, 0});
  REQUIRE(routes[0].size() == 2);  // 0 - 1 - 5 or 0 - 4 - 5
  for (const RouteHop& hop : routes[0]) { CHECK(ways.channels(hop.from, hop.to).size() == 1); }
}

// Half of S crosses each NIC at least; a ring, or a star from each rank, sends 15/16 and 8 x 1/2.
TEST_CASE("a byte crosses to another node once") {
  Bench b(nvswitch_cluster(2, 8, {.bandwidth = {12.5e9}, .latency = {5e-6}}));
  const Ways ways = ways_of(b, 16);
  CHECK(largest_load(ways, gathers(16, 1, 1e9), kLeastLoad) == Approx(0.5e9 / 12.5e9));
}

// Into one end of three in a line: 2/3 S.
TEST_CASE("pieces share ways of equal use") {
  Bench b(linked_node(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, 10e9, 1e-6));
  const Ways ways = ways_of(b, 4);
  // Each rank gets 3/4 S over two links, if evenly used.
  CHECK(largest_load(ways, gathers(4, 2, 8e6), kLeastLoad) == Approx(3e6 / 10e9));
  const std::vector<Demand> two{{0, 2, 1e6}, {0, 2, 1e6}};
  CHECK(largest_load(ways, two, kLeastLoad) == Approx(1e6 / 10e9));
}

TEST_CASE("a route begins at its root, follows itself and reaches whom it must") {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    Bench b(random_cluster(seed, 7));
    const Ways ways = ways_of(b, 7);
    for (const Taste taste : {Taste{1, 1, 0}, Taste{0.3, 0.01, 5}, kLeastLoad}) {
      const auto demands = gathers(7, 2, 7e6);
      const auto routes = find_routes(ways, demands, taste);
      for (std::size_t i = 0; i < routes.size(); ++i) {
        std::vector<bool> has(7, false);
        has[static_cast<std::size_t>(demands[i].root)] = true;
        for (const RouteHop& hop : routes[i]) {
          CHECK(has[static_cast<std::size_t>(hop.from)]);
          CHECK_FALSE(has[static_cast<std::size_t>(hop.to)]);
          has[static_cast<std::size_t>(hop.to)] = true;
        }
        CHECK(routes[i].size() == 6);
      }
    }
  }
}

TEST_CASE("more rounds never load the busiest channel more") {
  for (const unsigned seed : {11U, 12U, 13U}) {
    Bench b(random_cluster(seed, 8));
    const Ways ways = ways_of(b, 8);
    const auto demands = gathers(8, 2, 8e6);
    CHECK(largest_load(ways, demands, {0, 0.001, 12}) <=
          largest_load(ways, demands, {0, 0.001, 0}) * (1 + 1e-9));
  }
}

TEST_CASE("ranks that are turned have the routes of the first, turned") {
  Bench b(linked_node(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}, 25e9, 1e-6));
  const Ways ways = ways_of(b, 6);
  const std::vector<Rotation> rotations{{1, 6}};
  const auto routes = find_routes(ways, gathers(6, 1, 6e6), kLeastLoad, rotations);
  for (int r = 1; r < 6; ++r) {
    for (std::size_t i = 0; i < routes[0].size(); ++i) {
      const RouteHop turned{(routes[0][i].from + r) % 6, (routes[0][i].to + r) % 6};
      CHECK(routes[static_cast<std::size_t>(r)][i] == turned);
    }
  }
}

TEST_CASE("only ways that are allowed are open") {
  Bench b(nvswitch_node(4, {300e9}, {3e-6}));
  const std::vector<std::pair<int, int>> round{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const Ways ways(first_devices(4), round, Regime{}, b.router);
  CHECK(ways.connected());
  CHECK(ways.open(0, 1));
  CHECK_FALSE(ways.open(1, 0));
  for (const Route& route : find_routes(ways, gathers(4, 1, 4e6), kLeastLoad)) {
    for (const RouteHop& hop : route) { CHECK(hop.to == (hop.from + 1) % 4); }
  }
  const std::vector<std::pair<int, int>> line{{0, 1}, {1, 2}, {2, 3}};
  CHECK_FALSE(Ways(first_devices(4), line, Regime{}, b.router).connected());
}
