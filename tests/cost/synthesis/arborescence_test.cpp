#include "cost/synthesis/arborescence.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using doctest::Approx;
using tsim::cost::synthesis::cheapest_tree;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Cost of the tree; infinite when some vertex does not lead back to the root.
double cost_of(const std::vector<int>& parent, const std::vector<double>& costs, int root) {
  const int n = static_cast<int>(parent.size());
  double sum = 0;
  for (int v = 0; v < n; ++v) {
    if (v != root) { sum += costs[index(parent[index(v)] * n + v)]; }
    int at = v;
    for (int steps = 0; at != root; ++steps) {
      if (steps > n) { return kNone; }
      at = parent[index(at)];
    }
  }
  return sum;
}

/// By trying all parents of all vertices.
double least_cost(const std::vector<double>& costs, int n, int root) {
  double least = kNone;
  std::vector<int> parent(index(n), 0);
  for (;;) {
    bool possible = true;
    for (int v = 0; v < n; ++v) { possible = possible && (v == root || parent[index(v)] != v); }
    if (possible) { least = std::min(least, cost_of(parent, costs, root)); }
    int v = 0;
    while (v < n && (v == root || ++parent[index(v)] == n)) { parent[index(v++)] = 0; }
    if (v == n) { return least; }
  }
}

}  // namespace

// The cheapest arcs into 1 and 2 are a circle: 0 -> 1 -> 2 costs 10 + 1, 0 -> 2 -> 1 costs 8 + 2.
TEST_CASE("a circle of cheapest arcs is opened where that costs least") {
  const std::vector<double> costs{kNone, 10, 8, kNone, kNone, 1, kNone, 2, kNone};
  CHECK(cheapest_tree(3, costs, 0) == std::vector<int>{-1, 2, 0});
}

TEST_CASE("the cheapest tree costs what the best of all trees does") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + trial % 4, root = trial % n;
    std::vector<double> costs(index(n * n), kNone);
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        const bool must = from == root;  // so that the root reaches all
        if (from != to && (must || random() % 3 != 0)) {
          costs[index(from * n + to)] = static_cast<double>(random() % 20);
        }
      }
    }
    const std::vector<int> parent = cheapest_tree(n, costs, root);
    CHECK(parent[index(root)] == -1);
    CHECK(cost_of(parent, costs, root) == Approx(least_cost(costs, n, root)));
  }
}
