#include "cost/collectives/local_orders.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace tsim::cost::collectives {
namespace {

using Orders = Router::LocalOrders;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Paths between the devices of a node, and what a ring over them costs.
class Pairs {
 public:
  Pairs(std::span<const int> devices, Router& router)
      : n(static_cast<int>(devices.size())), topology_(router.topology()) {
    for (const int from : devices) {
      for (const int to : devices) { paths_.push_back(path(from, to, router)); }
    }
  }

  int n;

  const std::optional<Path>& path(int i, int j) const { return paths_[index(i * n + j)]; }

  /// Seconds that a byte takes over one channel.
  double pace(ChannelId c) const { return 1 / topology_.channels[index(c)].bandwidth.value; }

  bool linked(int i, int j) const {
    const auto& p = path(i, j);
    return p && p->channels.size() == 1 &&
           topology_.channels[index(p->channels[0])].kind == LinkKind::nvlink;
  }

  /// Seconds a byte over the channel that a ring loads most, and its latencies to tell equals
  /// apart.
  std::pair<double, double> ring_cost(const std::vector<int>& order) const {
    std::vector<ChannelId> used;
    double latency = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& p = path(order[i], order[(i + 1) % order.size()]);
      if (!p) { return {std::numeric_limits<double>::infinity(), 0}; }
      used.insert(used.end(), p->channels.begin(), p->channels.end());
      latency += p->latency.value;
    }
    std::sort(used.begin(), used.end());
    double worst = 0;
    for (auto c = used.begin(); c != used.end();) {
      const auto next = std::upper_bound(c, used.end(), *c);
      worst = std::max(worst, static_cast<double>(next - c) * pace(*c));
      c = next;
    }
    return {worst, latency};
  }

 private:
  static std::optional<Path> path(int from, int to, Router& router) {
    try {
      return router.path(from, to);
    } catch (const Unreachable&) { return std::nullopt; }
  }

  const Topology& topology_;
  std::vector<std::optional<Path>> paths_;
};

/// Orders that differ by less than 1e-9 are the same, so that the first one stays.
bool is_less(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  if (std::isinf(b.first)) { return !std::isinf(a.first); }
  return a.first < b.first * (1 - 1e-9) ||
         (a.first <= b.first * (1 + 1e-9) && a.second < b.second * (1 - 1e-9));
}

/// Tries all orders of few devices, exchanges of two of many.
std::vector<int> best_order(const Pairs& pairs) {
  constexpr int kAll = 8;
  std::vector<int> order(index(pairs.n));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> best = order;
  auto cost = pairs.ring_cost(best);
  const auto consider = [&](const std::vector<int>& candidate) {
    const auto c = pairs.ring_cost(candidate);
    if (is_less(c, cost)) {
      cost = c;
      best = candidate;
      return true;
    }
    return false;
  };
  if (pairs.n <= kAll) {
    while (std::next_permutation(order.begin() + 1, order.end())) { consider(order); }
    return best;
  }
  for (bool improved = true; improved;) {
    improved = false;
    for (int i = 1; i < pairs.n; ++i) {
      for (int j = i + 1; j < pairs.n; ++j) {
        order = best;
        std::reverse(order.begin() + i, order.begin() + j + 1);
        improved = consider(order) || improved;
        order = best;
        std::swap(order[index(i)], order[index(j)]);
        improved = consider(order) || improved;
      }
    }
  }
  return best;
}

/// A way through all devices over direct links; empty when a bounded search finds none.
std::vector<int> linked_chain(const Pairs& pairs) {
  std::vector<int> chain;
  std::vector<bool> seen(index(pairs.n), false);
  int budget = 100'000;
  const std::function<bool(int)> extend = [&](int v) {
    chain.push_back(v);
    seen[index(v)] = true;
    if (static_cast<int>(chain.size()) == pairs.n) { return true; }
    for (int next = 0; next < pairs.n && budget > 0; ++next) {
      if (seen[index(next)] || !pairs.linked(v, next)) { continue; }
      --budget;
      if (extend(next)) { return true; }
    }
    chain.pop_back();
    seen[index(v)] = false;
    return false;
  };
  for (int start = 0; start < pairs.n; ++start) {
    if (extend(start)) { return chain; }
  }
  return {};
}

/// Rings over direct links only, each of the rate of the thinnest link, which is set in `unit`.
std::vector<std::vector<int>> linked_rings(const Pairs& pairs, double& unit) {
  unit = std::numeric_limits<double>::infinity();
  std::vector<int> arcs(index(pairs.n * pairs.n), 0);
  const auto each_link = [&](auto use) {
    for (int i = 0; i < pairs.n; ++i) {
      for (int j = 0; j < pairs.n; ++j) {
        if (i != j && pairs.linked(i, j)) {
          use(arcs[index(i * pairs.n + j)], 1 / pairs.pace(pairs.path(i, j)->channels[0]));
        }
      }
    }
  };
  each_link([&](int&, double bandwidth) { unit = std::min(unit, bandwidth); });
  each_link([&](int& lanes, double bandwidth) {
    lanes = static_cast<int>(std::floor(bandwidth / unit + 1e-6));
  });
  return disjoint_rings(arcs, pairs.n);
}

/// All on one switch: every hop has two channels, its device's and the next one's, of equal rate.
bool alike(std::span<const int> devices, Router& router) {
  const auto& channels = router.topology().channels;
  double first = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Path& p = router.path(devices[i], devices[(i + 1) % devices.size()]);
    if (p.channels.size() != 2) { return false; }
    const double slower = std::min(channels[index(p.channels[0])].bandwidth.value,
                                   channels[index(p.channels[1])].bandwidth.value);
    if (i == 0) { first = slower; }
    if (slower != first) { return false; }
  }
  return true;
}

Orders find(std::span<const int> devices, Router& router) {
  constexpr int kMost = 64;  // devices of a node that orders are searched for
  std::vector<int> given(devices.size());
  std::iota(given.begin(), given.end(), 0);
  if (given.size() <= 2 || alike(devices, router)) { return {.rings = {given}}; }
  if (given.size() > kMost) { return {.rings = {given}, .backbone = given}; }
  const Pairs pairs(devices, router);
  const std::vector<int> order = best_order(pairs);
  Orders orders{.rings = {order}, .backbone = order};
  double lane = 0;
  std::vector<std::vector<int>> rings = linked_rings(pairs, lane);
  const double rate = static_cast<double>(rings.size()) * lane;
  if (!rings.empty() && rate >= (1 - 1e-9) / pairs.ring_cost(order).first) {
    return {.rings = rings, .backbone = rings[0]};
  }
  std::vector<int> chain = linked_chain(pairs);
  if (!chain.empty()) {
    orders.backbone = std::move(chain);
    orders.closed = false;
    orders.lane = lane;
  }
  return orders;
}

}  // namespace

const Orders& local_orders(std::span<const int> devices, Router& router) {
  const Topology& t = router.topology();
  const std::int32_t node = node_of(t, devices[0]);
  const std::int32_t kind = node >= 0 ? t.node_kind[index(node)] : -1;
  int first = devices[0];  // of the node; devices are numbered node by node
  while (first > 0 && node_of(t, first - 1) == node) { --first; }
  std::vector<int> key{kind >= 0 ? kind : -1 - node};
  for (const int device : devices) { key.push_back(device - first); }
  auto& known = router.local_orders();
  const auto found = known.find(key);
  if (found != known.end()) { return found->second; }
  return known.emplace(std::move(key), find(devices, router)).first->second;
}

}  // namespace tsim::cost::collectives
