#include "cost/collectives/ring_orders.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "cost/collectives/local_orders.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

const LinkSpec kCard{{10e9}, {1e-6}};

NodeDesign dgx1(double lane) {
  return with_cube_mesh(pcie_design({.devices = 8,
                                     .sockets = 2,
                                     .devices_per_switch = 2,
                                     .card = kCard,
                                     .uplink = kCard,
                                     .socket_link = {{9e9}, {1e-6}}}),
                        {{lane}, {1e-6}});
}

Bench bench(NodeDesign node, int nodes = 1) {
  return Bench(ClusterDesign{"test", {Device{}}, {{std::move(node), nodes}}});
}

std::vector<int> complete_graph(int n, int lanes) {
  std::vector<int> arcs(static_cast<std::size_t>(n * n), lanes);
  for (int i = 0; i < n; ++i) { arcs[static_cast<std::size_t>(i * n + i)] = 0; }
  return arcs;
}

void check_disjoint(const std::vector<std::vector<int>>& rings, int n) {
  std::set<std::pair<int, int>> used;
  for (const std::vector<int>& ring : rings) {
    CHECK(std::set<int>(ring.begin(), ring.end()).size() == static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      CHECK(used.emplace(ring[i], ring[(i + 1) % ring.size()]).second);
    }
  }
}

}  // namespace

// Complete digraphs split into n - 1 Hamiltonian cycles for all n but 4 and 6
//   [Tillson, J. Combinatorial Theory B 29, 1980].
TEST_CASE("the links of fully linked devices split into rings that use each once") {
  for (const int n : {3, 5, 7, 8}) {
    CAPTURE(n);
    const auto rings = collectives::disjoint_rings(complete_graph(n, 1), n);
    CHECK(rings.size() == static_cast<std::size_t>(n - 1));
    check_disjoint(rings, n);
  }
  CHECK(collectives::disjoint_rings(complete_graph(4, 1), 4).size() == 2);
  CHECK(collectives::disjoint_rings(complete_graph(4, 2), 4).size() == 6);
}

TEST_CASE("there is no ring where a device has a single neighbour") {
  CHECK(collectives::disjoint_rings({0, 1, 0, 1, 0, 1, 0, 1, 0}, 3).empty());
}

// VIA-Research/vTrain, NCCL on eight V100 in a cube mesh: 2 GPUs reach 22.55 GB/s at 1 GiB over
// their one lane. What follows for others: 3 have 2 rings, 4 have 4, 6 have 2, 7 have 4, 8 have 6.
// Measured: 45.1, 85.4, 45.7, 87.0, 134.5. Five have no ring over NVLink and use one chain up and
// down, whose bus bandwidth is 1.6 lanes = 36.1; measured 37.2.
TEST_CASE("a cube mesh's bus bandwidth follows from one lane's for any number of GPUs") {
  Bench b = bench(dgx1(22.55e9));
  const std::array<std::pair<int, double>, 7> measured{
      {{2, 22.55}, {3, 45.14}, {4, 85.36}, {5, 37.17}, {6, 45.74}, {7, 87.01}, {8, 134.51}}};
  for (const auto& row : measured) {
    const int n = row.first;
    const double gbps = row.second;
    CAPTURE(n);
    CHECK(b.all_reduce_busbw("auto", first_devices(n), 1_GiB) == Approx(gbps * 1e9).epsilon(0.06));
  }
}

// stas00/ml-engineering: MI300X, xGMI links between every two of eight: 47.67 GB/s busbw on 2,
// 312.9 on 8, that is 6.6 links of 7.
TEST_CASE("eight fully linked devices use seven links at once") {
  Bench b = bench(all_to_all_design(8, {{47.671e9}, {1e-6}}));
  const double busbw = b.all_reduce_busbw("ring", first_devices(8), 4_GiB);
  CHECK(busbw == Approx(7 * 47.671e9).epsilon(0.01));
  CHECK(busbw == Approx(312.912e9).epsilon(0.08));
}

// Ranks 0 2 1 3 in order would cross the sockets four times, and each card's uplink twice.
TEST_CASE("a ring crosses PCIe switches in the order of the wires, not of the ranks") {
  Bench b = bench(pcie_design({.devices = 4,
                               .sockets = 2,
                               .devices_per_switch = 2,
                               .card = kCard,
                               .uplink = kCard,
                               .socket_link = {{10e9}, {1e-6}}}));
  CHECK(b.all_reduce_busbw("ring", {0, 1, 2, 3}, 1_GiB) == Approx(10e9).epsilon(1e-3));
  CHECK(b.all_reduce_busbw("ring", {0, 2, 1, 3}, 1_GiB) == Approx(10e9).epsilon(1e-3));
}

TEST_CASE("ranks renamed on a cube mesh change nothing") {
  Bench b = bench(dgx1(25e9));
  CHECK(b.all_reduce_busbw("ring", {3, 7, 0, 5, 2, 6, 4, 1}, 1_GiB) ==
        Approx(b.all_reduce_busbw("ring", first_devices(8), 1_GiB)).epsilon(1e-6));
}

TEST_CASE("rings over several nodes use every NIC") {
  const auto busbw = [](int nics) {
    Bench b(nvswitch_cluster(4, 8, {.nics_per_node = nics, .bandwidth = {10e9}}));
    return b.all_reduce_busbw("ring", first_devices(32), 4_GiB);
  };
  CHECK(busbw(1) == Approx(10e9).epsilon(0.01));
  CHECK(busbw(2) == Approx(20e9).epsilon(0.01));
  CHECK(busbw(8) == Approx(80e9).epsilon(0.01));
}

TEST_CASE("every ring visits every device once") {
  Bench b(nvswitch_cluster(3, 4, {.nics_per_node = 2, .bandwidth = {10e9}}));
  const auto rings = collectives::ring_orders(first_devices(12), b.router);
  CHECK(rings.size() == 2);
  for (const collectives::Ring& ring : rings) {
    CHECK(ring.size() == 12);
    CHECK(std::set<int>(ring.begin(), ring.end()).size() == 12);
  }
}

TEST_CASE("a ring passes from node to node between the same places") {
  Bench b(nvswitch_cluster(4, 4, {.nics_per_node = 4, .bandwidth = {10e9}}));
  for (const collectives::Ring& ring : collectives::ring_orders(first_devices(16), b.router)) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int from = ring[i], to = ring[(i + 1) % ring.size()];
      if (from / 4 != to / 4) { CHECK(from % 4 == to % 4); }
    }
  }
}
