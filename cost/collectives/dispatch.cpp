#include "cost/dispatch.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost {
namespace {

using collectives::Draft;

/// Where a device is among the others of a collective.
struct Spot {
  std::size_t node = 0, place = 0;
};

class Exchange {
 public:
  Exchange(std::span<const int> devices, const RowTraffic& traffic, Draft& draft)
      : devices_(devices), traffic_(traffic), draft_(draft) {}

  void direct() {
    draft_.add_latency(send_all(Matrix(traffic_.bytes.begin(), traffic_.bytes.end())));
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
    draft_.end_step(send_all(inside));
    draft_.end_step(send_all(between));
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
    draft_.add_latency(2.0 * send_all(sent));
  }

  double most_sent() const {
    double most = 0;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      double sent = 0;
      for (std::size_t j = 0; j < devices_.size(); ++j) { sent += i == j ? 0 : bytes(i, j); }
      most = std::max(most, sent);
    }
    return most;
  }

 private:
  using Matrix = std::vector<double>;

  std::size_t count() const { return devices_.size(); }
  double bytes(std::size_t i, std::size_t j) const { return traffic_.bytes[i * count() + j]; }
  std::size_t at(std::size_t node, std::size_t place) const { return nodes_[node][place]; }

  /// Devices by node, as their numbers in the group.
  void find_spots(std::string_view way) {
    const Topology& topology = draft_.router().topology();
    const auto by_node = collectives::by_node(devices_, topology);
    nodes_.resize(by_node.size());
    spots_.resize(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const auto has = [&](const std::vector<int>& node) {
        return node_of(topology, node.front()) == node_of(topology, devices_[i]);
      };
      const auto node = static_cast<std::size_t>(std::find_if(by_node.begin(), by_node.end(), has) -
                                                 by_node.begin());
      spots_[i] = {node, nodes_[node].size()};
      nodes_[node].push_back(i);
    }
    for (const auto& node : nodes_) {
      if (node.size() != nodes_.front().size()) {
        throw collectives::not_possible(way, "nodes with different numbers of ranks");
      }
    }
  }

  /// All messages but those of a device to itself; the longest latency.
  Seconds send_all(const Matrix& sent) {
    Seconds slowest;
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) {
        const double size = sent[i * count() + j];
        if (i == j || size <= 0) { continue; }
        slowest = std::max(slowest, draft_.send(devices_[i], devices_[j], size));
      }
    }
    return slowest;
  }

  std::span<const int> devices_;
  const RowTraffic& traffic_;
  Draft& draft_;
  std::vector<std::vector<std::size_t>> nodes_;
  std::vector<Spot> spots_;
};

}  // namespace

CollectivePlan plan_dispatch(DispatchWay way, std::span<const int> devices,
                             const RowTraffic& traffic, Router& router) {
  assert(traffic.bytes.size() == devices.size() * devices.size());
  constexpr std::array<std::string_view, 3> kNames{"direct", "hierarchical", "rails"};
  const std::string_view name = kNames[static_cast<std::size_t>(way)];
  std::optional<Draft> best;
  for (const Regime* regime :
       regimes_for(router.topology().tuning, CollectiveOp::all_to_all, name)) {
    Draft draft(*regime, router);
    Exchange exchange(devices, traffic, draft);
    const double most = exchange.most_sent();
    if (most <= 0) { return {std::string(name), {}, {}}; }
    switch (way) {
      case DispatchWay::direct: exchange.direct(); break;
      case DispatchWay::hierarchical: exchange.hierarchical(); break;
      case DispatchWay::rails: exchange.rails(); break;
    }
    draft.finish(most);
    if (!best || draft.time() < best->time()) { best.emplace(std::move(draft)); }
  }
  return std::move(*best).plan(name);
}

double mean_groups_hit(double items, double groups, double chosen) {
  const double others = items - items / groups;
  double missed = 1;  // C(others, chosen) / C(items, chosen)
  for (double i = 0; i < chosen; ++i) { missed *= std::max(0.0, others - i) / (items - i); }
  return groups * (1 - missed);
}

}  // namespace tsim::cost
