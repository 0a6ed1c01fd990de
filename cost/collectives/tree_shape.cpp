#include "cost/collectives/tree_shape.hpp"

namespace tsim::cost::collectives {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Parent of rank r > 0 of n in the tree rooted at 0: an in-order tree over 1..n-1, whose levels
/// are the lowest set bits, so that odd ranks are its leaves.
int in_order_parent(int r, int n) {
  const int bit = r & -r;
  const int above = (r ^ bit) | (bit << 1);
  return above < n ? above : r ^ bit;
}

}  // namespace

std::vector<int> binary_tree(int n, bool complement) {
  std::vector<int> parent(index(n), -1);
  const auto place = [&](int r) {
    if (!complement) { return r; }
    return n % 2 == 0 ? n - 1 - r : (r + 1) % n;
  };
  for (int r = 1; r < n; ++r) { parent[index(place(r))] = place(in_order_parent(r, n)); }
  return parent;
}

std::vector<int> from_root(const std::vector<int>& parent) {
  std::vector<std::vector<int>> children(parent.size());
  std::vector<int> order;
  for (int r = 0; r < static_cast<int>(parent.size()); ++r) {
    if (parent[index(r)] < 0) {
      order.push_back(r);
    } else {
      children[index(parent[index(r)])].push_back(r);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int child : children[index(order[i])]) { order.push_back(child); }
  }
  return order;
}

}  // namespace tsim::cost::collectives
