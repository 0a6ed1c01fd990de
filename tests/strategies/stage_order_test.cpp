#include "strategies/stage_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "strategies/layout.hpp"
#include "strategies/schedule.hpp"

using namespace tsim;
using namespace tsim::strategies;

namespace {

using Places = std::vector<int>;

struct Wire {
  int a = 0, b = 0;
  double bandwidth = 1e9;
};

/// Devices 0..n-1 of one node, linked by nothing but `wires`.
cost::Topology wired(int devices, const std::vector<Wire>& wires) {
  cost::Topology t;
  for (int d = 0; d < devices; ++d) {
    t.vertices.push_back({cost::VertexKind::device, "gpu" + std::to_string(d), 0});
    t.devices.push_back(d);
    t.device_kind.push_back(0);
  }
  for (const Wire& w : wires) {
    t.links.push_back({cost::LinkKind::nvlink, w.a, w.b, {w.bandwidth}, Seconds{1e-6}, true});
  }
  cost::finish(t);
  return t;
}

/// All pairs by slow wires, but for a fast chain along `fast`.
cost::Topology chain(const Places& fast) {
  const int n = static_cast<int>(fast.size());
  std::vector<Wire> wires;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < a; ++b) {
      const auto at = [&](int d) { return std::find(fast.begin(), fast.end(), d) - fast.begin(); };
      wires.push_back({a, b, std::abs(at(a) - at(b)) == 1 ? 1e9 : 1e8});
    }
  }
  return wired(n, wires);
}

Strategy stages(int pipeline, int chunks = 1) {
  Strategy s;
  s.pipeline = pipeline;
  s.chunks = chunks;
  s.schedule = chunks > 1 ? "interleaved" : "1f1b";
  return s;
}

Places found(const cost::Topology& topology, const Strategy& s) {
  cost::Router router(topology);
  return stage_places_along(s, router, Bytes{1'000'000});
}

}  // namespace

TEST_CASE("stages follow the fast wires") {
  const Places fast{3, 1, 4, 0, 2};
  const Places places = found(chain(fast), stages(5));
  // A chain may be walked from either end; the smaller order is kept.
  CHECK(places == Places{2, 0, 4, 1, 3});
}

TEST_CASE("more stages than can all be looked at follow a fast chain, too") {
  Places fast(16);
  std::iota(fast.begin(), fast.end(), 0);
  std::rotate(fast.begin(), fast.begin() + 5, fast.end());
  std::swap(fast[2], fast[9]);
  Places places = found(chain(fast), stages(16));
  if (places != fast) { std::reverse(places.begin(), places.end()); }
  CHECK(places == fast);
}

TEST_CASE("where all wires are alike stages stay where they are numbered") {
  std::vector<Wire> wires;
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < a; ++b) { wires.push_back({a, b}); }
  }
  CHECK(found(wired(6, wires), stages(6)) == Places{0, 1, 2, 3, 4, 5});
  CHECK(found(wired(2, {{0, 1}}), stages(1)) == Places{0});
}

TEST_CASE("one slow wire is no neighbours' when there is a way round") {
  // A chain 0-1-2-3 in numbering order would use the slow wire 1-2.
  std::vector<Wire> wires;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < a; ++b) { wires.push_back({a, b, a == 2 && b == 1 ? 1e8 : 1e9}); }
  }
  const Places places = found(wired(4, wires), stages(4));
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    CHECK_FALSE((places[i] + places[i + 1] == 3 && places[i] * places[i + 1] == 2));
  }
}

TEST_CASE("chunks that go round make a ring, which a chain without an end wire is not") {
  // Fast: the square 0-2-1-3-0. As a chain any three of its sides do, as a ring all four.
  std::vector<Wire> wires{{0, 2}, {2, 1}, {1, 3}, {3, 0}, {0, 1, 1e8}, {2, 3, 1e8}};
  const Places ring = found(wired(4, wires), stages(4, 2));
  CHECK(ring == Places{0, 2, 1, 3});
}

TEST_CASE("a stage's ranks sit at the place that it was given") {
  Strategy s = stages(3);
  s.tensor = 2;
  s.stage_places = {2, 0, 1};
  const Layout layout(s);  // rank = tensor + 2 place
  CHECK(layout.tensor_group(0, 0) == Places{4, 5});
  CHECK(layout.tensor_group(0, 1) == Places{0, 1});
  CHECK(layout.tensor_group(0, 2) == Places{2, 3});
}
