#include "strategies/stage_order.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "cost/collectives.hpp"
#include "strategies/layout.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

constexpr int kMostExact = 10;
constexpr int kMostFirst = 16;   // first places that the search starts from
constexpr double kAlike = 1e-9;  // relative: what is closer is equal

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Longest step of a chain and their sum, compared in this order.
struct Cost {
  double longest = 0, sum = 0;
  Cost with(double step) const { return {std::max(longest, step), sum + step}; }
};

bool less(double a, double b) { return a < b * (1 - kAlike); }
bool less(const Cost& a, const Cost& b) {
  return less(a.longest, b.longest) || (!less(b.longest, a.longest) && less(a.sum, b.sum));
}

using Order = std::vector<int>;                      // places, by stage
using Distances = std::vector<std::vector<double>>;  // seconds, by place

struct Problem {
  Distances distance;
  std::vector<double> way_out;  // seconds from a place to its way out of the node
  bool round = false;           // the last stage sends to the first one, too
};

Seconds message_time(cost::Router& router, int from, int to, Bytes size) {
  const std::array devices{from, to};
  const auto plan = plan_collective(cost::CollectiveOp::send_recv, "auto", devices, size, router);
  return time_alone(plan, router.topology(), router);
}

/// Latency from a device to where its messages leave the node; 0 when they cannot.
double way_out_of(cost::Router& router, int device) {
  const cost::VertexId gateway = router.gateway(device);
  if (gateway < 0) { return 0; }
  return router.vertex_path(router.topology().devices[index(device)], gateway).latency.value;
}

/// Both ways count as the slower of them.
void add_distance(std::pair<int, int> stages, Seconds time, Problem& p) {
  const auto [a, b] = stages;
  for (double* both : {&p.distance[index(a)][index(b)], &p.distance[index(b)][index(a)]}) {
    *both = std::max(*both, time.value);
  }
}

/// The slowest of the messages that a stage's ranks exchange, on and back.
Problem problem_of(const Strategy& s, cost::Router& router, Bytes size) {
  Strategy given = s;
  given.stage_places.clear();
  const Layout layout(given);
  const PipelineShape shape = shape_of(s, 1);
  Problem p;
  p.round = shape.placement == Placement::loop && shape.chunks > 1;
  p.distance.assign(index(s.pipeline), std::vector<double>(index(s.pipeline), 0.0));
  p.way_out.assign(index(s.pipeline), 0.0);
  const int slots = s.tensor * replica_count(s);
  for (int a = 0; a < s.pipeline; ++a) {
    for (int slot = 0; slot < slots; ++slot) {
      const int t = slot % s.tensor;
      const int d = slot / s.tensor;
      const int from = layout.rank({t, d, a});
      p.way_out[index(a)] = std::max(p.way_out[index(a)], way_out_of(router, from));
      for (int b = 0; b < s.pipeline; ++b) {
        if (a == b) { continue; }
        add_distance({a, b}, message_time(router, from, layout.rank({t, d, b}), size), p);
      }
    }
  }
  return p;
}

Cost cost_of(const Problem& p, const Order& order) {
  Cost cost;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    cost = cost.with(p.distance[index(order[i])][index(order[i + 1])]);
  }
  return p.round ? cost.with(p.distance[index(order.back())][index(order.front())]) : cost;
}

/// Whether `a` is to be taken in place of `b`.
bool better(const Problem& p, const Order& a, const Order& b) {
  const Cost of_a = cost_of(p, a);
  const Cost of_b = cost_of(p, b);
  if (less(of_a, of_b) || less(of_b, of_a)) { return less(of_a, of_b); }
  const double out_a = p.way_out[index(a.back())];
  const double out_b = p.way_out[index(b.back())];
  if (less(out_a, out_b) || less(out_b, out_a)) { return out_a < out_b; }
  return a < b;
}

/// Bellman's recursion over (set of places in use, last of them) for one first place; the longest
/// step is settled before, so that the least sum is found among chains that never exceed it.
///   [Held & Karp, J. SIAM 10, 1962]
class Exact {
 public:
  Exact(const Problem& problem, int first) : p_(problem), n_(static_cast<int>(p_.way_out.size())) {
    best_.assign((std::size_t{1} << index(n_)) * index(n_), kNever);
    from_.assign(best_.size(), -1);
    best_[at(1U << static_cast<unsigned>(first), first)] = 0;
    first_ = first;
  }

  /// The cheapest chain with no step longer than `longest` that ends at each place.
  std::vector<Order> chains(double longest) {
    const double most = longest * (1 + kAlike);
    for (unsigned used = 1; used < (1U << static_cast<unsigned>(n_)); ++used) {
      for (int last = 0; last < n_; ++last) { extend(used, last, most); }
    }
    std::vector<Order> found;
    for (int last = 0; last < n_; ++last) {
      const bool closes = !p_.round || p_.distance[index(last)][index(first_)] <= most;
      if (best_[at(all(), last)] < kNever && closes) { found.push_back(chain_to(last)); }
    }
    return found;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  unsigned all() const { return (1U << static_cast<unsigned>(n_)) - 1U; }
  std::size_t at(unsigned used, int last) const { return used * index(n_) + index(last); }

  void extend(unsigned used, int last, double most) {
    const double sum = best_[at(used, last)];
    if (sum == kNever) { return; }
    for (int next = 0; next < n_; ++next) {
      const unsigned bit = 1U << static_cast<unsigned>(next);
      const double step = p_.distance[index(last)][index(next)];
      if ((used & bit) != 0 || step > most) { continue; }
      double& there = best_[at(used | bit, next)];
      if (sum + step < there * (1 - kAlike) || there == kNever) {
        there = sum + step;
        from_[at(used | bit, next)] = last;
      }
    }
  }

  Order chain_to(int last) const {
    Order order;
    unsigned used = all();
    while (last >= 0) {
      order.push_back(last);
      const int before = from_[at(used, last)];
      used &= ~(1U << static_cast<unsigned>(last));
      last = before;
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  const Problem& p_;
  int n_, first_ = 0;
  std::vector<double> best_;  // least sum
  std::vector<int> from_;     // the place before the last
};

/// Every length that a step can have, from the shortest on.
std::vector<double> step_lengths(const Problem& p) {
  std::vector<double> lengths;
  for (std::size_t a = 0; a < p.distance.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) { lengths.push_back(p.distance[a][b]); }
  }
  std::sort(lengths.begin(), lengths.end());
  const auto same = [](double a, double b) { return !less(a, b); };
  lengths.erase(std::unique(lengths.begin(), lengths.end(), same), lengths.end());
  return lengths;
}

Order exact(const Problem& p, Order best) {
  for (const double longest : step_lengths(p)) {
    bool found = false;
    for (int first = 0; first < static_cast<int>(p.way_out.size()); ++first) {
      for (const Order& order : Exact(p, first).chains(longest)) {
        found = true;
        if (better(p, order, best)) { best = order; }
      }
    }
    if (found) { return best; }
  }
  return best;
}

Order nearest_first(const Problem& p, int first) {
  Order order{first};
  std::vector<bool> used(p.way_out.size(), false);
  used[index(first)] = true;
  while (order.size() < p.way_out.size()) {
    const auto& from = p.distance[index(order.back())];
    int next = -1;
    for (int place = 0; place < static_cast<int>(from.size()); ++place) {
      if (used[index(place)]) { continue; }
      if (next < 0 || less(from[index(place)], from[index(next)])) { next = place; }
    }
    used[index(next)] = true;
    order.push_back(next);
  }
  return order;
}

/// Exchanges two places as long as that makes the chain better.
Order exchanged(const Problem& p, Order order) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        Order other = order;
        std::swap(other[i], other[j]);
        if (!less(cost_of(p, other), cost_of(p, order))) { continue; }
        order = std::move(other);
        changed = true;
      }
    }
  }
  return order;
}

Order searched(const Problem& p, Order best) {
  const int places = static_cast<int>(p.way_out.size());
  for (int i = 0; i < std::min(places, kMostFirst); ++i) {
    const int first = i * places / std::min(places, kMostFirst);
    const Order order = exchanged(p, nearest_first(p, first));
    if (better(p, order, best)) { best = order; }
  }
  return best;
}

}  // namespace

std::vector<int> stage_places_along(const Strategy& strategy, cost::Router& router, Bytes size) {
  Order given(index(strategy.pipeline));
  std::iota(given.begin(), given.end(), 0);
  if (strategy.pipeline < 2) { return given; }
  const Problem problem = problem_of(strategy, router, size);
  return strategy.pipeline <= kMostExact ? exact(problem, std::move(given))
                                         : searched(problem, std::move(given));
}

}  // namespace tsim::strategies
