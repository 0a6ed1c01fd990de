#include <algorithm>
#include <map>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

/// Bytes by channel: a table of all channels when many are loaded, else a list that is sorted.
class ChannelLoads {
 public:
  ChannelLoads(const std::vector<Channel>& channels, std::size_t parts) : channels_(channels) {
    if (parts >= channels.size()) {
      table_.resize(channels.size());
    } else {
      list_.reserve(parts);
    }
  }

  void add(ChannelId channel, double bytes) {
    if (table_.empty()) {
      list_.emplace_back(channel, bytes);
    } else {
      table_[static_cast<std::size_t>(channel)] += bytes;
    }
  }

  /// What the channel that takes longest takes.
  Seconds slowest() {
    double most = 0;
    for (std::size_t c = 0; c < table_.size(); ++c) { most = std::max(most, time(c, table_[c])); }
    std::sort(list_.begin(), list_.end());
    for (std::size_t i = 0; i < list_.size();) {
      const ChannelId c = list_[i].first;
      double load = 0;
      for (; i < list_.size() && list_[i].first == c; ++i) { load += list_[i].second; }
      most = std::max(most, time(static_cast<std::size_t>(c), load));
    }
    return {most};
  }

 private:
  double time(std::size_t channel, double bytes) const {
    return bytes > 0 ? bytes / channels_[channel].bandwidth.value : 0.0;
  }

  const std::vector<Channel>& channels_;
  std::vector<double> table_;
  std::vector<std::pair<ChannelId, double>> list_;
};

}  // namespace

Seconds Draft::step(int from, int to) { return step(from, to, router_.path(from, to)); }

Seconds Draft::step(int from, int to, const Path& path) const {
  const Topology& t = router_.topology();
  const bool inside = node_of(t, from) == node_of(t, to);
  return path.latency + (inside ? regime_.step : regime_.network_step);
}

Seconds Draft::send(int from, int to, double bytes) {
  const Path& path = router_.path(from, to);
  plan_.transfers.push_back({from, to, bytes / regime_.share});
  paths_.push_back(&path);
  return step(from, to, path);
}

Seconds Draft::busiest(std::size_t first, bool inside) const {
  return busiest_channel(std::span(paths_).subspan(first),
                         std::span(plan_.transfers).subspan(first), inside, router_.topology());
}

void Draft::end_step(Seconds latency) {
  serial_ += busiest(ended_);
  ended_ = plan_.transfers.size();
  plan_.latency += latency;
}

/// A plan's transfers all run at once, and its busiest channel then takes less time than the steps
/// one after the other if other channels were busiest in some of them; the difference is waiting.
void Draft::finish(double payload) {
  const bool counts = serial_.value > 0 || regime_.buffer < kUnlimited || regime_.least.value > 0;
  const Seconds all = counts ? busiest(0) : Seconds{};
  if (serial_.value > 0) { plan_.latency += std::max(Seconds{}, serial_ - all); }
  StepCosts& costs = plan_.costs;
  costs = {regime_.start, regime_.step, regime_.network_step, {}, regime_.share};
  if (regime_.buffer < kUnlimited) {
    const Seconds inside = busiest(0, true) + Seconds{payload / regime_.buffer.value};
    costs.once += std::max(Seconds{}, inside - all);
  }
  plan_.latency += costs.once;
  plan_.protocol = regime_.protocol;
  if (regime_.least.value > 0) {
    costs.least = regime_.least;
    plan_.latency = std::max(plan_.latency, regime_.least - all);
  }
}

CollectivePlan Draft::plan(std::string_view algorithm) && {
  plan_.algorithm = algorithm;
  return std::move(plan_);
}

Seconds busiest_channel(std::span<const Path* const> paths, std::span<const Transfer> bytes,
                        bool inside, const Topology& topology) {
  std::size_t parts = 0;
  for (const Path* const path : paths) { parts += path->channels.size(); }
  ChannelLoads loads(topology.channels, parts);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (const ChannelId c : paths[i]->channels) {
      const LinkKind kind = topology.channels[static_cast<std::size_t>(c)].kind;
      const bool outside = kind == LinkKind::nic || kind == LinkKind::fabric;
      if (!inside || !outside) { loads.add(c, bytes[i].bytes); }
    }
  }
  return loads.slowest();
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
