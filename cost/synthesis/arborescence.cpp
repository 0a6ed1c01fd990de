#include "cost/synthesis/arborescence.hpp"

#include <limits>

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

constexpr double kNone = std::numeric_limits<double>::infinity();

/// The cheapest arc into each vertex.
std::vector<int> cheapest_in(int n, std::span<const double> costs, int root) {
  std::vector<int> parent(index(n), -1);
  for (int to = 0; to < n; ++to) {
    if (to == root) { continue; }
    double least = kNone;
    for (int from = 0; from < n; ++from) {
      const double cost = costs[index(from * n + to)];
      if (from == to || cost >= least) { continue; }
      least = cost;
      parent[index(to)] = from;
    }
  }
  return parent;
}

/// Vertices numbered anew so that those of one circle of parents are one; how many there are.
int contract(const std::vector<int>& parent, std::vector<int>& whole) {
  const int n = static_cast<int>(parent.size());
  constexpr int kUnseen = -1;
  whole.assign(index(n), kUnseen);
  std::vector<int> walk(index(n), kUnseen);
  int count = 0;
  for (int start = 0; start < n; ++start) {
    int v = start;
    while (v >= 0 && walk[index(v)] == kUnseen) {
      walk[index(v)] = start;
      v = parent[index(v)];
    }
    if (v < 0 || walk[index(v)] != start || whole[index(v)] != kUnseen) { continue; }
    for (int u = v; whole[index(u)] == kUnseen; u = parent[index(u)]) { whole[index(u)] = count; }
    ++count;
  }
  const int circles = count;
  for (int& w : whole) {
    if (w == kUnseen) { w = count++; }
  }
  return circles > 0 ? count : n;
}

}  // namespace

std::vector<int> cheapest_tree(int n, std::span<const double> costs, int root) {
  std::vector<int> parent = cheapest_in(n, costs, root), whole;
  const int m = contract(parent, whole);
  if (m == n) { return parent; }
  std::vector<double> fewer(index(m) * index(m), kNone);
  std::vector<int> from_of(fewer.size(), -1), to_of(fewer.size(), -1);
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      const int a = whole[index(from)], b = whole[index(to)];
      if (a == b || to == root) { continue; }
      // Choosing this arc leaves the other one into the same vertex out.
      const double cost = costs[index(from * n + to)] - costs[index(parent[index(to)] * n + to)];
      const std::size_t arc = index(a * m + b);
      if (cost >= fewer[arc]) { continue; }
      fewer[arc] = cost;
      from_of[arc] = from;
      to_of[arc] = to;
    }
  }
  const std::vector<int> above = cheapest_tree(m, fewer, whole[index(root)]);
  for (int b = 0; b < m; ++b) {
    const int a = above[index(b)];
    if (a >= 0) { parent[index(to_of[index(a * m + b)])] = from_of[index(a * m + b)]; }
  }
  return parent;
}

}  // namespace tsim::cost::synthesis
