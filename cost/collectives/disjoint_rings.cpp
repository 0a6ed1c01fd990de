// Hamiltonian cycles that share no arc: the rings of a node whose devices are linked pair by pair.
#include <algorithm>
#include <limits>
#include <numeric>

#include "cost/collectives/local_orders.hpp"

namespace tsim::cost::collectives {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Depth-first search for `wanted` rings with a budget of steps.
class RingSearch {
 public:
  RingSearch(std::vector<int> arcs, int n, bool both_ways, long budget)
      : arcs_(std::move(arcs)), n_(n), both_ways_(both_ways), budget_(budget) {}

  bool find(int wanted) {
    wanted_ = wanted;
    rings.clear();
    return next_ring();
  }

  std::vector<std::vector<int>> rings;

 private:
  int& arc(int i, int j) { return arcs_[index(i * n_ + j)]; }

  void use(int i, int j, int by) {
    arc(i, j) -= by;
    if (both_ways_) { arc(j, i) -= by; }
  }

  bool next_ring() {
    if (static_cast<int>(rings.size()) == wanted_) { return true; }
    std::vector<int> ring{0};
    std::vector<bool> seen(index(n_), false);
    seen[0] = true;
    return extend(ring, seen);
  }

  bool extend(std::vector<int>& ring, std::vector<bool>& seen) {
    if (--budget_ < 0) { return false; }
    const int last = ring.back();
    if (static_cast<int>(ring.size()) == n_) {
      if (arc(last, 0) < 1) { return false; }
      use(last, 0, 1);
      rings.push_back(ring);
      if (next_ring()) { return true; }
      rings.pop_back();
      use(last, 0, -1);
      return false;
    }
    std::vector<int> ways;
    for (int v = 0; v < n_; ++v) {
      if (!seen[index(v)] && arc(last, v) > 0) { ways.push_back(v); }
    }
    // Bundles with the most lanes left first: the thin ones are needed where there is no choice.
    std::ranges::stable_sort(ways, std::greater<>{}, [&](int v) { return arc(last, v); });
    for (const int v : ways) {
      use(last, v, 1);
      ring.push_back(v);
      seen[index(v)] = true;
      if (extend(ring, seen)) { return true; }
      seen[index(v)] = false;
      ring.pop_back();
      use(last, v, -1);
    }
    return false;
  }

  std::vector<int> arcs_;
  int n_;
  bool both_ways_;
  long budget_;
  int wanted_ = 0;
};

/// Rings that a place's arcs allow at most.
int most_rings(const std::vector<int>& arcs, int n) {
  int most = std::numeric_limits<int>::max();
  for (int i = 0; i < n; ++i) {
    const auto row = arcs.begin() + static_cast<std::ptrdiff_t>(i) * n;
    most = std::min(most, std::accumulate(row, row + n, 0));
  }
  return most;
}

}  // namespace

std::vector<std::vector<int>> disjoint_rings(const std::vector<int>& arcs, int n) {
  constexpr long kSteps = 200'000;
  const int most = most_rings(arcs, n);
  // Pairs of a ring and its reverse are the easier half of the search; wires go both ways.
  std::vector<std::vector<int>> found;
  for (int pairs = most / 2; pairs > 0 && found.empty(); --pairs) {
    RingSearch search(arcs, n, true, kSteps);
    if (!search.find(pairs)) { continue; }
    for (const std::vector<int>& ring : search.rings) {
      found.push_back(ring);
      found.emplace_back(ring.rbegin(), ring.rend());
    }
  }
  for (int wanted = most; wanted > static_cast<int>(found.size()); --wanted) {
    RingSearch search(arcs, n, false, kSteps);
    if (search.find(wanted)) { return search.rings; }
  }
  return found;
}

}  // namespace tsim::cost::collectives
