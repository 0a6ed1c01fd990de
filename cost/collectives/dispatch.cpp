#include "cost/dispatch.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "cost/collectives/algorithms.hpp"
#include "cost/routing/exchange_loads.hpp"

namespace tsim::cost {
namespace {

using Matrix = std::vector<double>;

bool leaves_nodes(LinkKind kind) { return kind == LinkKind::nic || kind == LinkKind::fabric; }

/// Time of the busiest channel, or of the busiest one inside nodes.
Seconds busiest(const std::vector<double>& bytes, const Topology& t, bool inside = false) {
  Seconds longest;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (bytes[c] > 0 && !(inside && leaves_nodes(t.channels[c].kind))) {
      longest = std::max(longest, Seconds{bytes[c] / t.channels[c].bandwidth.value});
    }
  }
  return longest;
}

/// Where a device is among the others of a group.
struct Spot {
  std::size_t node = 0, place = 0;
};

/// Steps of an exchange, one after another or all at once, in whatever regime.
class Exchange {
 public:
  Exchange(std::span<const int> devices, const RowTraffic& traffic, Router& router)
      : devices_(devices), traffic_(traffic), router_(router) {
    bytes_.assign(router.topology().channels.size(), 0.0);
  }

  void plan(DispatchWay way) {
    switch (way) {
      case DispatchWay::direct: add_step(exchange_loads(devices_, traffic_.bytes, router_)); break;
      case DispatchWay::hierarchical: hierarchical(); break;
      case DispatchWay::rails: rails(); break;
    }
  }

  /// A way in two steps that waits between them, or passes on what arrives.
  DispatchPlan in(const Regime& regime, double most) const {
    const Topology& t = router_.topology();
    DispatchPlan plan;
    std::vector<double> loads = bytes_;
    for (double& bytes : loads) { bytes /= regime.share; }
    const Seconds all = busiest(loads, t);
    for (const ExchangeLoads& step : steps_) { plan.latency += hops_ * latency(step, regime); }
    if (steps_.size() > 1) { plan.latency += std::max(Seconds{}, serial_ / regime.share - all); }
    plan.costs = {regime.start, regime.step, regime.network_step, {}, regime.share};
    if (regime.buffer < kUnlimited) {
      const Seconds inside = busiest(loads, t, true) + Seconds{most / regime.buffer.value};
      plan.costs.once += std::max(Seconds{}, inside - all);
    }
    plan.latency += plan.costs.once;
    plan.costs.least = regime.least;
    plan.latency = std::max(plan.latency, regime.least - all);
    for (std::size_t c = 0; c < loads.size(); ++c) {
      if (loads[c] > 0) { plan.loads.emplace_back(static_cast<ChannelId>(c), loads[c]); }
    }
    return plan;
  }

 private:
  std::size_t count() const { return devices_.size(); }
  double bytes(std::size_t i, std::size_t j) const { return traffic_.bytes[i * count() + j]; }
  std::size_t at(std::size_t node, std::size_t place) const { return nodes_[node][place]; }

  static Seconds latency(const ExchangeLoads& step, const Regime& regime) {
    Seconds slowest;
    if (step.any_inside) { slowest = step.inside + regime.step; }
    if (step.any_between) { slowest = std::max(slowest, step.between + regime.network_step); }
    return slowest;
  }

  void add_step(ExchangeLoads step) {
    serial_ += busiest(step.bytes, router_.topology());
    for (std::size_t c = 0; c < bytes_.size(); ++c) { bytes_[c] += step.bytes[c]; }
    step.bytes.clear();
    steps_.push_back(std::move(step));
  }

  void hierarchical() {
    find_spots("hierarchical");
    Matrix inside(count() * count(), 0.0);
    Matrix between(count() * count(), 0.0);
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) {
        const std::size_t gate = at(spots_[i].node, spots_[j].place);
        inside[i * count() + gate] += bytes(i, j);
        between[gate * count() + j] += bytes(i, j);
      }
    }
    add_step(exchange_loads(devices_, inside, router_));
    add_step(exchange_loads(devices_, between, router_));
  }

  void rails() {
    find_spots("rails");
    Matrix sent(count() * count(), 0.0);
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) {
        const std::size_t gate = at(spots_[j].node, spots_[i].place);
        sent[i * count() + gate] += bytes(i, j) * traffic_.node_share;
        sent[gate * count() + j] += bytes(i, j) * traffic_.device_share;
      }
    }
    add_step(exchange_loads(devices_, sent, router_));
    hops_ = 2;
  }

  /// Devices by node, as their numbers in the group.
  void find_spots(std::string_view way) {
    const Topology& topology = router_.topology();
    std::vector<std::size_t> number;  // of a topology's node in the group
    for (std::size_t i = 0; i < count(); ++i) {
      const auto node = static_cast<std::size_t>(node_of(topology, devices_[i]));
      constexpr auto kNew = static_cast<std::size_t>(-1);
      number.resize(std::max(number.size(), node + 1), kNew);
      if (number[node] == kNew) {
        number[node] = nodes_.size();
        nodes_.emplace_back();
      }
      spots_.push_back({number[node], nodes_[number[node]].size()});
      nodes_[number[node]].push_back(i);
    }
    for (const auto& node : nodes_) {
      if (node.size() != nodes_.front().size()) {
        throw collectives::not_possible(way, "nodes with different numbers of ranks");
      }
    }
  }

  std::span<const int> devices_;
  const RowTraffic& traffic_;
  Router& router_;
  std::vector<std::vector<std::size_t>> nodes_;
  std::vector<Spot> spots_;
  std::vector<double> bytes_;  // by channel, of all steps
  std::vector<ExchangeLoads> steps_;
  Seconds serial_;   // time of the steps' busiest channels
  double hops_ = 1;  // of a token in one step
};

double most_sent(std::span<const double> bytes, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sent = 0;
    for (std::size_t j = 0; j < n; ++j) { sent += i == j ? 0 : bytes[i * n + j]; }
    most = std::max(most, sent);
  }
  return most;
}

}  // namespace

Seconds time_alone(const DispatchPlan& plan, const Topology& topology) {
  Seconds longest;
  for (const auto& [channel, bytes] : plan.loads) {
    const Channel& c = topology.channels[static_cast<std::size_t>(channel)];
    longest = std::max(longest, Seconds{bytes / c.bandwidth.value});
  }
  return plan.latency + longest;
}

DispatchPlan plan_dispatch(DispatchWay way, std::span<const int> devices, const RowTraffic& traffic,
                           Router& router) {
  assert(traffic.bytes.size() == devices.size() * devices.size());
  constexpr std::array<std::string_view, 3> kNames{"direct", "hierarchical", "rails"};
  const std::string_view name = kNames[static_cast<std::size_t>(way)];
  const double most = most_sent(traffic.bytes, devices.size());
  if (most <= 0) { return {.algorithm = std::string(name), .loads = {}}; }
  Exchange exchange(devices, traffic, router);
  exchange.plan(way);
  std::optional<DispatchPlan> best;
  for (const Regime* regime :
       regimes_for(router.topology().tuning, CollectiveOp::all_to_all, name)) {
    DispatchPlan plan = exchange.in(*regime, most);
    const auto time = [&](const DispatchPlan& p) { return time_alone(p, router.topology()); };
    if (!best || time(plan) < time(*best)) { best = std::move(plan); }
  }
  best->algorithm = name;
  return std::move(*best);
}

double mean_groups_hit(double items, double groups, double chosen) {
  const double others = items - items / groups;
  double missed = 1;  // C(others, chosen) / C(items, chosen)
  for (double i = 0; i < chosen; ++i) { missed *= std::max(0.0, others - i) / (items - i); }
  return groups * (1 - missed);
}

}  // namespace tsim::cost
