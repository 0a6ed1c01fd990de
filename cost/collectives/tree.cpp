// Binary trees. Within one node, or with one device in each, the double binary tree: two trees
// that halve the bytes between them, inner ranks of one being leaves of the other
//   [Sanders, Speck, Traff, Parallel Computing 35, 2009].
// Over several nodes every node has a tree of its own, and only the heads of nodes are joined by
// the double tree, so that each byte crosses a network edge once; the local ranks take turns as
// heads, each for its share of the bytes, so that all NICs work.
#include <map>
#include <vector>

#include "cost/collectives/algorithms.hpp"

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

/// Parents by rank in the first tree (root 0), or its complement: mirrored for even n, shifted by
/// one for odd n, where mirroring would keep the leaves. The root's parent is -1.
std::vector<int> parents(int n, bool complement) {
  std::vector<int> parent(index(n), -1);
  const auto place = [&](int r) {
    if (!complement) { return r; }
    return n % 2 == 0 ? n - 1 - r : (r + 1) % n;
  };
  for (int r = 1; r < n; ++r) { parent[index(place(r))] = place(in_order_parent(r, n)); }
  return parent;
}

/// The devices of each node, nodes in the order of their first device.
std::vector<std::vector<int>> by_node(std::span<const int> devices, const Topology& topology) {
  std::map<std::int32_t, std::size_t> position;
  std::vector<std::vector<int>> nodes;
  for (const int device : devices) {
    const auto [entry, is_new] = position.try_emplace(node_of(topology, device), nodes.size());
    if (is_new) { nodes.emplace_back(); }
    nodes[entry->second].push_back(device);
  }
  return nodes;
}

/// Adds trees to a plan, in the directions that the operation needs.
class Planter {
 public:
  Planter(CollectiveOp op, CollectivePlan& plan, Router& router)
      : up_(op != CollectiveOp::broadcast),
        down_(op != CollectiveOp::reduce),
        plan_(plan),
        router_(router) {}

  /// `bytes` along every edge; returns the latency of the way between root and deepest leaf, once
  /// for each direction.
  Seconds tree(std::span<const int> devices, const std::vector<int>& parent, double bytes) {
    std::vector<Seconds> edge(devices.size());
    for (std::size_t r = 0; r < devices.size(); ++r) {
      if (parent[r] < 0) { continue; }
      const int above = devices[index(parent[r])];
      if (up_) { edge[r] += send(plan_, devices[r], above, bytes, router_); }
      if (down_) { edge[r] += send(plan_, above, devices[r], bytes, router_); }
    }
    Seconds deepest;
    for (std::size_t r = 0; r < devices.size(); ++r) {
      Seconds depth;
      for (std::size_t v = r; parent[v] >= 0; v = index(parent[v])) { depth += edge[v]; }
      deepest = std::max(deepest, depth);
    }
    return deepest;
  }

  Seconds single_tree(std::span<const int> devices, double bytes) {
    return tree(devices, parents(static_cast<int>(devices.size()), false), bytes);
  }

  Seconds double_tree(std::span<const int> devices, double bytes) {
    const auto n = static_cast<int>(devices.size());
    const Seconds first = tree(devices, parents(n, false), bytes / 2);
    const std::vector<int> parent = parents(n, true);
    const Seconds second = tree(devices, parent, bytes / 2);
    return std::max(first, second + feed(devices, parent, bytes / 2));
  }

 private:
  /// A rooted collective's root exchanges its half with the root of the second tree.
  Seconds feed(std::span<const int> devices, const std::vector<int>& parent, double bytes) {
    if ((up_ && down_) || parent[0] < 0) { return {}; }
    int root = 0;
    while (parent[index(root)] >= 0) { root = parent[index(root)]; }
    const int other = devices[index(root)];
    return down_ ? send(plan_, devices[0], other, bytes, router_)
                 : send(plan_, other, devices[0], bytes, router_);
  }

  bool up_, down_;
  CollectivePlan& plan_;
  Router& router_;
};

}  // namespace

CollectivePlan tree(const Request& request, Router& router) {
  CollectivePlan plan;
  Planter planter(request.op, plan, router);
  std::vector<std::vector<int>> nodes = by_node(request.devices, router.topology());
  if (nodes.size() == 1) {
    plan.latency = planter.double_tree(request.devices, request.payload);
    return plan;
  }
  std::size_t turns = 1;  // a rooted collective's root is the only head of its node
  if (request.op == CollectiveOp::all_reduce) {
    turns = std::ranges::min_element(nodes, {}, [](const auto& n) { return n.size(); })->size();
  }
  const double bytes = request.payload / static_cast<double>(turns);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::vector<int> heads;
    Seconds inside;
    for (std::vector<int>& node : nodes) {
      heads.push_back(node[0]);
      inside = std::max(inside, planter.single_tree(node, bytes));
      std::rotate(node.begin(), node.begin() + 1, node.end());
    }
    plan.latency = std::max(plan.latency, inside + planter.double_tree(heads, bytes));
  }
  return plan;
}

}  // namespace tsim::cost::collectives
