#include <doctest/doctest.h>

#include <chrono>

#include "cost/topology.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;

namespace {

Topology of(std::vector<Vertex> vertices, std::vector<Link> links, std::vector<VertexId> devices) {
  Topology t;
  t.vertices = std::move(vertices);
  t.links = std::move(links);
  t.devices = std::move(devices);
  finish(t);
  return t;
}

const Vertex kA{VertexKind::device, "a", 0}, kB{VertexKind::device, "b", 0};
const Vertex kSwitch{VertexKind::pcie_switch, "s", 0}, kOther{VertexKind::pcie_switch, "o", 0};

}  // namespace

TEST_CASE("a device reaches itself at no cost") {
  const Topology t = of({kA, kB}, {{LinkKind::nvlink, 0, 1, {1e9}, {1e-6}, true}}, {0, 1});
  Router router(t);
  CHECK(router.path(1, 1) == Path{});
}

TEST_CASE("the way back uses the channels of the other direction") {
  const Topology t = of({kA, kB}, {{LinkKind::nvlink, 0, 1, {1e9}, {1e-6}, true}}, {0, 1});
  Router router(t);
  CHECK(router.path(0, 1).channels == std::vector<ChannelId>{0});
  CHECK(router.path(1, 0).channels == std::vector<ChannelId>{1});
}

TEST_CASE("a path's latency is the sum over its links") {
  const Topology t =
      of({kA, kSwitch, kB},
         {{LinkKind::pcie, 0, 1, {1e9}, {1e-6}, true}, {LinkKind::pcie, 1, 2, {1e9}, {4e-6}, true}},
         {0, 2});
  Router router(t);
  CHECK(router.path(0, 1).latency.value == Approx(5e-6).epsilon(1e-12));
}

// 1 MiB: direct 1e-6 + 1048576/1e9 = 1.05 ms; by the switch 40e-6 + 1048576/25e9 = 0.082 ms.
TEST_CASE("two fast hops win over a slow direct link") {
  const Topology t = of({kA, kB, kSwitch},
                        {{LinkKind::pcie, 0, 1, {1e9}, {1e-6}, true},
                         {LinkKind::nvlink, 0, 2, {25e9}, {20e-6}, true},
                         {LinkKind::nvlink, 2, 1, {25e9}, {20e-6}, true}},
                        {0, 1});
  Router router(t);
  CHECK(router.path(0, 1).channels == std::vector<ChannelId>{2, 4});
}

// The slowest link counts once: s has latencies 30+30 us at 25 GB/s = 102 us, o has 10+10 us at
// 25 and 10 GB/s = 125 us, though each of o's links alone costs less than the sum suggests.
TEST_CASE("only the slowest link of a path counts for its bandwidth") {
  const Topology t = of({kA, kB, kSwitch, kOther},
                        {{LinkKind::nvlink, 0, 2, {25e9}, {30e-6}, true},
                         {LinkKind::nvlink, 2, 1, {25e9}, {30e-6}, true},
                         {LinkKind::nvlink, 0, 3, {25e9}, {10e-6}, true},
                         {LinkKind::nvlink, 3, 1, {10e9}, {10e-6}, true}},
                        {0, 1});
  Router router(t);
  CHECK(router.path(0, 1).channels == std::vector<ChannelId>{0, 2});
}

TEST_CASE("of equal ways the one through the lower-numbered vertex is taken") {
  const Topology t = of({kA, kB, kSwitch, kOther},
                        {{LinkKind::nvlink, 0, 3, {1e9}, {1e-6}, true},
                         {LinkKind::nvlink, 3, 1, {1e9}, {1e-6}, true},
                         {LinkKind::nvlink, 0, 2, {1e9}, {1e-6}, true},
                         {LinkKind::nvlink, 2, 1, {1e9}, {1e-6}, true}},
                        {0, 1});
  Router router(t);
  CHECK(router.path(0, 1).channels == std::vector<ChannelId>{4, 6});
}

TEST_CASE("a device is not passed through") {
  const Topology t = of({kA, kB, {VertexKind::device, "c", 0}},
                        {{LinkKind::nvlink, 0, 1, {1e9}, {1e-6}, true},
                         {LinkKind::nvlink, 1, 2, {1e9}, {1e-6}, true}},
                        {0, 1, 2});
  Router router(t);
  CHECK_THROWS_AS(router.path(0, 2), Unreachable);
}

TEST_CASE("unreachable devices are named") {
  const Topology t = of({kA, kB}, {}, {0, 1});
  Router router(t);
  try {
    router.path(0, 1);
    FAIL("expected Unreachable");
  } catch (const Unreachable& e) {
    CHECK(e.from == "a");
    CHECK(e.to == "b");
  }
}

TEST_CASE("an unknown device is out of range") {
  const Topology t = of({kA, kB}, {{LinkKind::nvlink, 0, 1, {1e9}, {1e-6}, true}}, {0, 1});
  Router router(t);
  CHECK_THROWS_AS(router.path(0, 2), std::out_of_range);
  CHECK_THROWS_AS(router.path(-1, 0), std::out_of_range);
}

TEST_CASE("host memory is reached like any vertex") {
  const Topology t = of(
      {kA, kB, {VertexKind::host_memory, "dram", 0}},
      {{LinkKind::pcie, 0, 2, {16e9}, {2e-6}, true}, {LinkKind::pcie, 1, 2, {16e9}, {2e-6}, true}},
      {0, 1});
  Router router(t);
  CHECK(router.vertex_path(0, 2).channels == std::vector<ChannelId>{0});
  CHECK(router.path(0, 1).channels == std::vector<ChannelId>{0, 3});
}

TEST_CASE("a returned path stays valid while others are searched for") {
  const Cluster c = build_cluster(nvswitch_node(32, {300e9}, {3e-6}));
  Router router(c.topology);
  const Path& kept = router.path(0, 1);
  const Path copy = kept;
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 32; ++j) { router.path(i, j); }
  }
  CHECK(kept == copy);
}

// Figures of speed hold for optimised builds; others look at a tenth of the devices.
TEST_CASE("twelve thousand pairs of 3072 devices are found in well under 0.3 s") {
#ifdef NDEBUG
  constexpr int kNodes = 384;
#else
  constexpr int kNodes = 38;
#endif
  constexpr int kDevices = 8 * kNodes;
  const Cluster c = build_cluster(
      nvswitch_cluster(kNodes, 8, {.nics_per_node = 8, .bandwidth = {25e9}, .latency = {5e-6}}));
  const auto start = std::chrono::steady_clock::now();
  Router router(c.topology);
  std::size_t channels = 0;
  for (int d = 0; d < kDevices; ++d) {
    for (const int step : {1, 8, 64, 100}) {
      channels += router.path(d, (d + step) % kDevices).channels.size();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(channels == 2 * 4 * kDevices);
  MESSAGE(4 * kDevices << " paths in " << took.count() << " s");
#ifdef NDEBUG
  CHECK(took.count() < 0.3);
#endif
}
