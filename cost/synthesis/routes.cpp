#include "cost/synthesis/routes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Keys that differ by less than this, relatively, are the same.
constexpr double kSame = 1e-9;

/// Loads of channels and the prices that follow from them.
class Market {
 public:
  Market(const Ways& ways, double latency)
      : ways_(ways), latency_(latency), loads_(ways.paces().size(), 0) {}

  void add(const Route& route, double bytes) {
    for (const RouteHop& hop : route) {
      for (const int c : ways_.channels(hop.from, hop.to)) {
        loads_[index(c)] += bytes * ways_.paces()[index(c)];
      }
    }
  }

  double largest() const {
    return loads_.empty() ? 0 : std::max(0.0, *std::ranges::max_element(loads_));
  }

  const std::vector<double>& loads() const { return loads_; }

  /// What each arc costs a demand of `bytes`, row by row.
  void price(double bytes, double steepness, std::vector<double>& costs) {
    const double most = largest();
    prices_.resize(loads_.size());
    for (std::size_t c = 0; c < loads_.size(); ++c) {
      const double price = most > 0 ? std::exp(steepness * (loads_[c] / most - 1)) : 1;
      prices_[c] = price * bytes * ways_.paces()[c];
    }
    const int n = ways_.ranks();
    costs.assign(index(n) * index(n), std::numeric_limits<double>::infinity());
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if (!ways_.open(from, to)) { continue; }
        double cost = latency_ * ways_.latency(from, to);
        for (const int c : ways_.channels(from, to)) { cost += prices_[index(c)]; }
        costs[index(from * n + to)] = cost;
      }
    }
  }

 private:
  const Ways& ways_;
  double latency_;
  std::vector<double> loads_;
  std::vector<double> prices_;
};

/// Grows a tree from a root, always by the arc whose cost and `depth` times the way before it are
/// least; of equal ones by that with fewer hops before it.
class Tree {
 public:
  Tree(int ranks, std::span<const double> costs, double depth)
      : n_(ranks), costs_(costs), depth_(depth), labels_(index(ranks)) {}

  Route grown(const Demand& demand) {
    labels_[index(demand.root)].in = true;
    Route route;
    for (int at = demand.root; at >= 0 && at != demand.target; at = nearest()) {
      Label& label = labels_[index(at)];
      label.in = true;
      if (at != demand.root) { route.push_back({label.parent, at}); }
      offer_from(at);
    }
    return demand.target >= 0 ? way_to(demand.target) : route;
  }

 private:
  struct Label {
    bool in = false;
    int parent = -1, hops = 0;
    double key = std::numeric_limits<double>::infinity();
    double way = 0;  // cost of the way from the root
  };

  void offer_from(int at) {
    const Label& from = labels_[index(at)];
    for (int to = 0; to < n_; ++to) {
      Label& label = labels_[index(to)];
      const double cost = costs_[index(at * n_ + to)];
      if (label.in || std::isinf(cost)) { continue; }
      const double key = depth_ * from.way + cost;
      const bool less = key < label.key * (1 - kSame);
      const bool equal = !less && key <= label.key * (1 + kSame);
      if (less || (equal && from.hops + 1 < label.hops)) {
        label = {false, at, from.hops + 1, key, from.way + cost};
      }
    }
  }

  int nearest() const {
    int best = -1;
    for (int v = 0; v < n_; ++v) {
      const Label& label = labels_[index(v)];
      if (label.in || label.parent < 0) { continue; }
      if (best < 0 || label.key < labels_[index(best)].key * (1 - kSame)) { best = v; }
    }
    return best;
  }

  Route way_to(int target) const {
    Route route;
    for (int v = target; labels_[index(v)].parent >= 0; v = labels_[index(v)].parent) {
      route.push_back({labels_[index(v)].parent, v});
    }
    std::ranges::reverse(route);
    return route;
  }

  int n_;
  std::span<const double> costs_;
  double depth_;
  std::vector<Label> labels_;
};

/// The rank that `rank` is turned to, `times` may be negative.
int turned(int rank, Rotation rotation, int times) {
  if (rank < 0) { return rank; }
  const int run = rank / rotation.size * rotation.size;
  const int place = (rank - run + times * rotation.offset) % rotation.size;
  return run + (place + rotation.size) % rotation.size;
}

bool is_open(const Route& route, const Ways& ways) {
  return std::ranges::all_of(route,
                             [&](const RouteHop& hop) { return ways.open(hop.from, hop.to); });
}

/// Demands that are turns of an earlier one: its number, the rotation and how often.
struct Turn {
  std::size_t of = 0;
  Rotation rotation{};
  int times = 0;
};

/// Finds turns of earlier demands. Of several with one root and target, the n-th of a turned pair
/// turns the n-th of the other.
class TurnFinder {
 public:
  TurnFinder(std::span<const Rotation> rotations, int ranks)
      : rotations_(rotations), ranks_(ranks) {}

  /// Of the i-th demand, after those before it.
  std::optional<Turn> next(std::size_t i, const Demand& demand) {
    const int same = before_[{demand.root, demand.target}]++;
    for (const Rotation& r : rotations_) {
      if (r.size < 2 || ranks_ % r.size != 0) { continue; }
      if (const auto turn = by(r, demand, same)) { return turn; }
    }
    known_[{demand.root, demand.target, same}] = i;
    return std::nullopt;
  }

 private:
  std::optional<Turn> by(const Rotation& r, const Demand& demand, int same) const {
    for (int times = 1; times < r.size; ++times) {
      const auto base =
          known_.find({turned(demand.root, r, -times), turned(demand.target, r, -times), same});
      if (base != known_.end()) { return Turn{base->second, r, times}; }
    }
    return std::nullopt;
  }

  std::span<const Rotation> rotations_;
  int ranks_;
  std::map<std::tuple<int, int, int>, std::size_t> known_;  // by root, target and how many before
  std::map<std::pair<int, int>, int> before_;
};

std::map<std::size_t, Turn> turns(std::span<const Demand> demands,
                                  std::span<const Rotation> rotations, int ranks) {
  std::map<std::size_t, Turn> found;
  TurnFinder finder(rotations, ranks);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if (const auto turn = finder.next(i, demands[i])) { found[i] = *turn; }
  }
  return found;
}

Route turned_route(const Route& route, const Turn& turn) {
  Route result;
  result.reserve(route.size());
  for (const RouteHop& hop : route) {
    result.push_back(
        {turned(hop.from, turn.rotation, turn.times), turned(hop.to, turn.rotation, turn.times)});
  }
  return result;
}

/// The route of the demand that the i-th one is a turn of, turned; empty for others.
Route copied_route(const std::map<std::size_t, Turn>& copies, std::size_t i,
                   std::span<const Route> routes) {
  const auto copy = copies.find(i);
  if (copy == copies.end()) { return {}; }
  return turned_route(routes[copy->second.of], copy->second);
}

}  // namespace

std::vector<Route> find_routes(const Ways& ways, std::span<const Demand> demands, Taste taste,
                               std::span<const Rotation> rotations) {
  const std::map<std::size_t, Turn> copies = turns(demands, rotations, ways.ranks());
  Market market(ways, taste.latency);
  std::vector<Route> routes(demands.size()), best;
  std::vector<double> costs;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= taste.rounds; ++round) {
    for (std::size_t i = 0; i < demands.size(); ++i) {
      market.add(routes[i], -demands[i].bytes);
      routes[i] = copied_route(copies, i, routes);
      if (routes[i].empty() || !is_open(routes[i], ways)) {
        market.price(demands[i].bytes, 2.0 + round, costs);
        const double depth = demands[i].target >= 0 ? 1 : taste.depth;
        routes[i] = Tree(ways.ranks(), costs, depth).grown(demands[i]);
      }
      market.add(routes[i], demands[i].bytes);
    }
    if (market.largest() < least * (1 - kSame)) {
      least = market.largest();
      best = routes;
    }
  }
  return best;
}

std::vector<double> loads(const Ways& ways, std::span<const Demand> demands,
                          std::span<const Route> routes) {
  assert(demands.size() == routes.size());
  Market market(ways, 0);
  for (std::size_t i = 0; i < routes.size(); ++i) { market.add(routes[i], demands[i].bytes); }
  return market.loads();
}

}  // namespace tsim::cost::synthesis
