#include "cost/collectives/spanning_trees.hpp"

#include <algorithm>
#include <map>

#include "cost/collectives/algorithms.hpp"
#include "cost/collectives/local_orders.hpp"
#include "cost/collectives/tree_shape.hpp"

namespace tsim::cost::collectives {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Parents in a chain that hangs down from `root` on both sides.
std::vector<int> chain_parents(const std::vector<int>& order, int root) {
  std::vector<int> parent(order.size(), -1);
  const auto at = std::ranges::find(order, root) - order.begin();
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(order.size()); ++i) {
    const auto here = index(order[static_cast<std::size_t>(i)]);
    if (i > at) { parent[here] = order[static_cast<std::size_t>(i - 1)]; }
    if (i < at) { parent[here] = order[static_cast<std::size_t>(i + 1)]; }
  }
  return parent;
}

/// The binary tree of n places, turned so that `head` is its root.
std::vector<int> turned_tree(int n, int head) {
  const std::vector<int> straight = binary_tree(n, false);
  std::vector<int> parent(straight.size(), -1);
  for (int i = 0; i < n; ++i) {
    if (straight[index(i)] >= 0) {
      parent[index((i + head) % n)] = (straight[index(i)] + head) % n;
    }
  }
  return parent;
}

/// The nodes' devices and their ranks.
struct Members {
  std::vector<std::vector<int>> nodes;
  std::map<int, int> rank_of;
};

/// One of the trees over several nodes: which head, which half of the double tree, which of the
/// nodes' own trees.
struct Choice {
  std::size_t turn = 0;
  bool complement = false;
  std::size_t chain = 0;
};

std::vector<int> joined_tree(const Members& members, const Choice& choice, Router& router) {
  const auto& nodes = members.nodes;
  std::vector<int> parent(members.rank_of.size(), -1);
  const auto rank = [&](std::size_t node, int place) {
    return members.rank_of.at(nodes[node][index(place)]);
  };
  const auto above = binary_tree(static_cast<int>(nodes.size()), choice.complement);
  const int head = static_cast<int>(choice.turn);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto local = local_trees(nodes[k], head, router);
    const std::vector<int>& tree = local[choice.chain % local.size()];
    for (int place = 0; place < static_cast<int>(tree.size()); ++place) {
      if (tree[index(place)] >= 0) { parent[index(rank(k, place))] = rank(k, tree[index(place)]); }
    }
    if (above[k] >= 0) { parent[index(rank(k, head))] = rank(index(above[k]), head); }
  }
  return parent;
}

}  // namespace

std::size_t head_turns(CollectiveOp op, std::span<const std::vector<int>> nodes) {
  if (op != CollectiveOp::all_reduce) { return 1; }
  return std::ranges::min_element(nodes, {}, [](const auto& n) { return n.size(); })->size();
}

std::vector<std::vector<int>> local_trees(std::span<const int> devices, int head, Router& router) {
  const Router::LocalOrders& orders = local_orders(devices, router);
  if (orders.backbone.empty()) { return {turned_tree(static_cast<int>(devices.size()), head)}; }
  std::vector<std::vector<int>> trees;
  const std::size_t count = orders.closed ? (orders.rings.size() + 1) / 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    // A ring and its reverse, which stand side by side, would use the same links.
    std::vector<int> order = count > 1 ? orders.rings[2 * i] : orders.backbone;
    if (orders.closed) { std::rotate(order.begin(), std::ranges::find(order, head), order.end()); }
    trees.push_back(chain_parents(order, head));
  }
  return trees;
}

std::vector<std::vector<int>> spanning_trees(CollectiveOp op, std::span<const int> devices,
                                             Router& router) {
  Members members{by_node(devices, router.topology()), {}};
  for (std::size_t r = 0; r < devices.size(); ++r) {
    members.rank_of[devices[r]] = static_cast<int>(r);
  }
  const int n = static_cast<int>(devices.size());
  if (members.nodes.size() == 1) {
    const bool alike = local_orders(devices, router).backbone.empty();
    if (alike) { return {binary_tree(n, false), binary_tree(n, true)}; }
    return local_trees(devices, 0, router);
  }
  const std::size_t turns = head_turns(op, members.nodes);
  std::size_t chains = 1;
  for (const std::vector<int>& node : members.nodes) {
    chains = std::max(chains, local_trees(node, 0, router).size());
  }
  std::vector<std::vector<int>> trees;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    for (std::size_t chain = 0; chain < chains; ++chain) {
      for (const bool complement : {false, true}) {
        trees.push_back(joined_tree(members, {turn, complement, chain}, router));
      }
    }
  }
  return trees;
}

}  // namespace tsim::cost::collectives
