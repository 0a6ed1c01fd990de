// Binary trees. Within one switch, or with one device in each node, the double binary tree: two
// trees that halve the bytes between them, inner ranks of one being leaves of the other
//   [Sanders, Speck, Traff, Parallel Computing 35, 2009].
// Over several nodes every node has a tree of its own, and only the heads of nodes are joined by
// the double tree, so that each byte crosses a network edge once; the local ranks take turns as
// heads, each for its share of the bytes, so that all NICs work. Where the devices of a node are
// not all alike its tree is a chain along its rings, which loads no link twice.
#include <limits>

#include "cost/collectives/algorithms.hpp"
#include "cost/collectives/local_orders.hpp"
#include "cost/collectives/spanning_trees.hpp"
#include "cost/collectives/tree_shape.hpp"

namespace tsim::cost::collectives {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Adds trees to a plan, in the directions that the operation needs. All return the latency of the
/// way between root and deepest leaf, once for each direction.
class Planter {
 public:
  Planter(CollectiveOp op, Draft& draft)
      : up_(op != CollectiveOp::broadcast), down_(op != CollectiveOp::reduce), draft_(draft) {}

  /// `bytes` along every edge.
  Seconds tree(std::span<const int> devices, const std::vector<int>& parent, double bytes) {
    std::vector<Seconds> edge(devices.size());
    for (std::size_t r = 0; r < devices.size(); ++r) {
      if (parent[r] < 0) { continue; }
      const int above = devices[index(parent[r])];
      if (up_) { edge[r] += draft_.send(devices[r], above, bytes); }
      if (down_) { edge[r] += draft_.send(above, devices[r], bytes); }
    }
    Seconds deepest;
    for (std::size_t r = 0; r < devices.size(); ++r) {
      Seconds depth;
      for (std::size_t v = r; parent[v] >= 0; v = index(parent[v])) { depth += edge[v]; }
      deepest = std::max(deepest, depth);
    }
    return deepest;
  }

  Seconds double_tree(std::span<const int> devices, double bytes) {
    const auto n = static_cast<int>(devices.size());
    const Seconds first = tree(devices, binary_tree(n, false), bytes / 2);
    const std::vector<int> parent = binary_tree(n, true);
    const Seconds second = tree(devices, parent, bytes / 2);
    return std::max(first, second + feed(devices, parent, bytes / 2));
  }

  /// The trees of one node's devices under devices[head].
  Seconds local_tree(std::span<const int> devices, int head, double bytes) {
    const auto trees = local_trees(devices, head, draft_.router());
    Seconds deepest;
    for (const std::vector<int>& parent : trees) {
      deepest = std::max(deepest, tree(devices, parent, bytes / static_cast<double>(trees.size())));
    }
    return deepest + waiting(devices, local_orders(devices, draft_.router()), bytes);
  }

 private:
  /// The one chain of a node without rings is one channel of the library, which keeps to one lane
  /// of each bundle of links. (NCCL: no more tree channels than ring channels.) What it takes
  /// longer than the whole bundle would.
  Seconds waiting(std::span<const int> devices, const Router::LocalOrders& orders, double bytes) {
    if (!(orders.lane > 0)) { return {}; }
    const Topology& t = draft_.router().topology();
    double slowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < orders.backbone.size(); ++i) {
      const Path& path = draft_.router().path(devices[index(orders.backbone[i])],
                                              devices[index(orders.backbone[i + 1])]);
      slowest = std::min(slowest, t.channels[index(path.channels[0])].bandwidth.value);
    }
    return Seconds{bytes / orders.lane - bytes / slowest};
  }

  /// A rooted collective's root exchanges its half with the root of the second tree.
  Seconds feed(std::span<const int> devices, const std::vector<int>& parent, double bytes) {
    if ((up_ && down_) || parent[0] < 0) { return {}; }
    int root = 0;
    while (parent[index(root)] >= 0) { root = parent[index(root)]; }
    const int other = devices[index(root)];
    return down_ ? draft_.send(devices[0], other, bytes) : draft_.send(other, devices[0], bytes);
  }

  bool up_, down_;
  Draft& draft_;
};

}  // namespace

Seconds all_reduce_trees(std::span<const int> devices, double bytes, Draft& draft) {
  return Planter(CollectiveOp::all_reduce, draft).double_tree(devices, bytes);
}

void tree(const Request& request, Draft& draft) {
  Planter planter(request.op, draft);
  const std::vector<std::vector<int>> nodes = by_node(request.devices, draft.router().topology());
  if (nodes.size() == 1) {
    const bool alike = local_orders(nodes[0], draft.router()).backbone.empty();
    draft.add_latency(alike ? planter.double_tree(request.devices, request.payload)
                            : planter.local_tree(request.devices, 0, request.payload));
    return;
  }
  const std::size_t turns = head_turns(request.op, nodes);
  const double bytes = request.payload / static_cast<double>(turns);
  Seconds slowest;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::vector<int> heads;
    Seconds inside;
    for (const std::vector<int>& node : nodes) {
      heads.push_back(node[turn]);
      inside = std::max(inside, planter.local_tree(node, static_cast<int>(turn), bytes));
    }
    slowest = std::max(slowest, inside + planter.double_tree(heads, bytes));
  }
  draft.add_latency(slowest);
}

}  // namespace tsim::cost::collectives
