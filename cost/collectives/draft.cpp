#include <map>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {

Seconds Draft::step(int from, int to) {
  const Topology& t = router_.topology();
  const bool inside = node_of(t, from) == node_of(t, to);
  return router_.path(from, to).latency + (inside ? regime_.step : regime_.network_step);
}

Seconds Draft::send(int from, int to, double bytes) {
  plan_.transfers.push_back({from, to, bytes / regime_.share});
  return step(from, to);
}

Seconds Draft::busiest(std::span<const Transfer> transfers) const {
  return busiest_channel(transfers, false, router_);
}

void Draft::end_step(Seconds latency) {
  serial_ += busiest(std::span(plan_.transfers).subspan(ended_));
  ended_ = plan_.transfers.size();
  plan_.latency += latency;
}

/// A plan's transfers all run at once, and its busiest channel then takes less time than the steps
/// one after the other if other channels were busiest in some of them; the difference is waiting.
CollectivePlan Draft::finish(double payload) && {
  if (serial_.value > 0) {
    plan_.latency += std::max(Seconds{}, serial_ - busiest(plan_.transfers));
  }
  plan_.latency += regime_.start;
  if (regime_.buffer < kUnlimited) {
    const Seconds inside =
        busiest_channel(plan_.transfers, true, router_) + Seconds{payload / regime_.buffer.value};
    plan_.latency += std::max(Seconds{}, inside - busiest(plan_.transfers));
  }
  plan_.protocol = regime_.protocol;
  if (regime_.least.value > 0) {
    plan_.latency = std::max(plan_.latency, regime_.least - busiest(plan_.transfers));
  }
  return std::move(plan_);
}

Seconds busiest_channel(std::span<const Transfer> transfers, bool inside, Router& router) {
  const std::vector<Channel>& channels = router.topology().channels;
  std::vector<std::pair<ChannelId, double>> loads;
  for (const Transfer& t : transfers) {
    for (const ChannelId c : router.path(t.from, t.to).channels) {
      const LinkKind kind = channels[static_cast<std::size_t>(c)].kind;
      const bool outside = kind == LinkKind::nic || kind == LinkKind::fabric;
      if (!inside || !outside) { loads.emplace_back(c, t.bytes); }
    }
  }
  std::sort(loads.begin(), loads.end());
  double slowest = 0;
  for (std::size_t i = 0; i < loads.size();) {
    const ChannelId c = loads[i].first;
    double bytes = 0;
    for (; i < loads.size() && loads[i].first == c; ++i) { bytes += loads[i].second; }
    slowest = std::max(slowest, bytes / channels[static_cast<std::size_t>(c)].bandwidth.value);
  }
  return {slowest};
}

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

std::invalid_argument not_possible(std::string_view algorithm, std::string_view reason) {
  return std::invalid_argument(std::string(algorithm) + ": " + std::string(reason));
}

}  // namespace tsim::cost::collectives
