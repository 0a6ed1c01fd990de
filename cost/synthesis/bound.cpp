#include "cost/synthesis/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/synthesis/arborescence.hpp"
#include "cost/synthesis/cuts.hpp"

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

constexpr double kFar = std::numeric_limits<double>::infinity();

/// Costs of the cheapest ways over any number of ranks, and the rank before each.
///   [Floyd, Comm. ACM 5, 1962]
struct Shortest {
  int n;
  std::vector<double> cost;
  std::vector<int> before;

  Shortest(int ranks, std::vector<double> arcs)
      : n(ranks), cost(std::move(arcs)), before(cost.size()) {
    for (int i = 0; i < n * n; ++i) { before[index(i)] = i / n; }
    for (int i = 0; i < n; ++i) { cost[index(i * n + i)] = 0; }
    for (int via = 0; via < n; ++via) {
      for (int from = 0; from < n; ++from) {
        for (int to = 0; to < n; ++to) { shorten(from, via, to); }
      }
    }
  }

  void shorten(int from, int via, int to) {
    const double way = cost[index(from * n + via)] + cost[index(via * n + to)];
    double& known = cost[index(from * n + to)];
    if (way >= known) { return; }
    known = way;
    before[index(from * n + to)] = before[index(via * n + to)];
  }
};

bool towards_root(CollectiveOp op) {
  return op == CollectiveOp::reduce_scatter || op == CollectiveOp::reduce ||
         op == CollectiveOp::gather;
}

bool single_root(CollectiveOp op) {
  return op == CollectiveOp::broadcast || op == CollectiveOp::reduce ||
         op == CollectiveOp::scatter || op == CollectiveOp::gather;
}

bool along_paths(CollectiveOp op) {
  return op == CollectiveOp::scatter || op == CollectiveOp::gather ||
         op == CollectiveOp::all_to_all;
}

/// What traffic costs at prices of channels, and where it then goes.
class Pricing {
 public:
  Pricing(CollectiveOp op, double payload, const Ways& ways)
      : op_(op), payload_(payload), ways_(ways), n_(ways.ranks()) {}

  /// The least cost at `prices` per second of each channel; adds the traffic to `loads`.
  double cost(std::span<const double> prices, std::vector<double>& loads) {
    loads_ = &loads;
    price(prices);
    if (along_paths(op_)) { return paths(); }
    return op_ == CollectiveOp::all_reduce ? all_reduce() : trees();
  }

 private:
  void price(std::span<const double> prices) {
    arcs_.assign(index(n_ * n_), kFar);
    for (int from = 0; from < n_; ++from) {
      for (int to = 0; to < n_; ++to) {
        if (!ways_.open(from, to)) { continue; }
        double& arc = arcs_[index(from * n_ + to)];
        arc = 0;
        for (const int c : ways_.channels(from, to)) {
          arc += prices[index(c)] * ways_.paces()[index(c)];
        }
      }
    }
  }

  double send(int from, int to, double bytes) {
    for (const int c : ways_.channels(from, to)) {
      (*loads_)[index(c)] += bytes * ways_.paces()[index(c)];
    }
    return bytes * arcs_[index(from * n_ + to)];
  }

  double paths() {
    const Shortest ways(n_, arcs_);
    const double bytes = payload_ / n_;
    double sum = 0;
    for (int from = 0; from < (single_root(op_) ? 1 : n_); ++from) {
      for (int to = 0; to < n_; ++to) {
        for (int v = to; v != from; v = ways.before[index(from * n_ + v)]) {
          sum += send(ways.before[index(from * n_ + v)], v, bytes);
        }
      }
    }
    return sum;
  }

  double tree(int root, double bytes) {
    const std::vector<int> parent = cheapest_tree(n_, arcs_, root);
    double sum = 0;
    for (int v = 0; v < n_; ++v) {
      if (v != root) { sum += send(parent[index(v)], v, bytes); }
    }
    return sum;
  }

  double trees() {
    if (single_root(op_)) { return tree(0, payload_); }
    double sum = 0;
    for (int root = 0; root < n_; ++root) { sum += tree(root, payload_ / n_); }
    return sum;
  }

  /// A tree towards the first rank that is complete, then one message at least to every other one.
  /// The ways here are turned round, so that the tree leads away from it and messages leave.
  double all_reduce() {
    std::vector<double> leave(index(n_), kFar);
    double all = 0, least = kFar;
    for (int v = 0; v < n_; ++v) {
      const auto row = arcs_.begin() + static_cast<std::ptrdiff_t>(v) * n_;
      const auto best = std::min_element(row, row + n_);
      leave[index(v)] = payload_ * *best;
      all += leave[index(v)];
      send(v, static_cast<int>(best - row), payload_ * (n_ - 1) / n_);
    }
    for (int root = 0; root < n_; ++root) {
      const double in = tree(root, payload_ / n_) * n_;
      least = std::min(least, in + all - leave[index(root)]);
    }
    return least;
  }

  CollectiveOp op_;
  double payload_;
  const Ways& ways_;
  int n_;
  std::vector<double> arcs_;
  std::vector<double>* loads_ = nullptr;
};

/// Prices grow with what their channels have carried so far, the more so the later.
double best_prices(CollectiveOp op, double payload, const Ways& ways) {
  constexpr int kRounds = 60;
  Pricing pricing(op, payload, ways);
  const std::size_t m = ways.paces().size();
  std::vector<double> carried(m, 0), prices(m, 1);
  double best = 0;
  for (int round = 0; round < kRounds && m > 0; ++round) {
    double sum = 0;
    const double most = *std::ranges::max_element(carried);
    for (std::size_t c = 0; c < m; ++c) {
      prices[c] = most > 0 ? std::exp((6.0 + round) * (carried[c] / most - 1)) : 1;
      sum += prices[c];
    }
    for (double& price : prices) { price /= sum; }
    best = std::max(best, pricing.cost(prices, carried));
  }
  return best;
}

/// Latency of the way to the farthest rank that must hear of another one.
double farthest(CollectiveOp op, const Ways& ways) {
  const int n = ways.ranks();
  std::vector<double> arcs(index(n * n), kFar);
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (ways.open(from, to)) { arcs[index(from * n + to)] = ways.latency(from, to); }
    }
  }
  const Shortest shortest(n, std::move(arcs));
  const auto end = shortest.cost.begin() + (single_root(op) ? n : n * n);
  return *std::max_element(shortest.cost.begin(), end);
}

double nearest(const Ways& ways) {
  double least = kFar;
  for (int from = 0; from < ways.ranks(); ++from) {
    for (int to = 0; to < ways.ranks(); ++to) {
      if (ways.open(from, to)) { least = std::min(least, ways.latency(from, to)); }
    }
  }
  return least;
}

}  // namespace

LowerBound lower_bound(CollectiveOp op, Bytes payload, const Ways& ways) {
  if (ways.ranks() < 2) { return {{}, "one rank"}; }
  const Ways turned = ways.reversed();
  const bool inwards = towards_root(op);
  const double bytes = to_double(payload), latency = nearest(ways);
  LowerBound best{{farthest(op, inwards ? turned : ways)}, "the way to the farthest rank"};
  const LowerBound cut = cut_bound(op, bytes, ways);
  if (cut.time.value + latency > best.time.value) {
    best = {cut.time + Seconds{latency}, cut.reason};
  }
  const bool against = inwards || op == CollectiveOp::all_reduce;
  const double price = best_prices(op, bytes, against ? turned : ways);
  if (price + latency > best.time.value * (1 + 1e-6)) {
    best = {{price + latency}, "all channels together"};
  }
  return best;
}

}  // namespace tsim::cost::synthesis
