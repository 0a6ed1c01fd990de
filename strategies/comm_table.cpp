#include "strategies/comm_table.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace tsim::strategies {
namespace {

using Loads = std::unordered_map<cost::ChannelId, double>;

void add_loads(const std::vector<Flow>& flows, Loads& loads) {
  for (const Flow& flow : flows) {
    for (const cost::ChannelId c : flow.channels) { loads[c] += flow.bytes; }
  }
}

/// Seconds that the most loaded of the flows' channels needs for all that crosses it.
double slowest(const std::vector<Flow>& flows, const Loads& loads, const cost::Topology& topology) {
  double worst = 0;
  for (const Flow& flow : flows) {
    for (const cost::ChannelId c : flow.channels) {
      const auto& channel = topology.channels[static_cast<std::size_t>(c)];
      worst = std::max(worst, loads.at(c) / channel.bandwidth.value);
    }
  }
  return worst;
}

/// A ring of messages ends where it began.
std::int32_t ranks_in(const std::vector<int>& devices) {
  const bool closed = devices.size() > 1 && devices.front() == devices.back();
  return static_cast<std::int32_t>(devices.size()) - (closed ? 1 : 0);
}

}  // namespace

std::vector<Flow> CommTable::flows(const cost::CollectivePlan& plan) {
  std::vector<Flow> result;
  for (const cost::Transfer& t : plan.transfers) {
    const cost::Path& path = router_->path(t.from, t.to);
    if (!path.channels.empty() && t.bytes > 0) { result.push_back({path.channels, t.bytes}); }
  }
  return result;
}

std::uint32_t CommTable::comm(TaskGraph& graph, const CommKey& key, const std::string& label,
                              const GroupCopies& copies) {
  const auto found = known_.find(key);
  if (found != known_.end()) { return found->second; }
  const cost::CollectivePlan plan = plan_collective(key.op, algorithm_of(*strategy_, key.op),
                                                    copies.front(), key.payload, *router_);
  Comm comm{.label = label,
            .algorithm = plan.algorithm,
            .stream = key.stream,
            .ranks = ranks_in(copies.front()),
            .payload = key.payload,
            .latency = plan.latency,
            .flows = flows(plan),
            .op = key.op,
            .devices = copies.front(),
            .costs = plan.costs};
  comm.own_flows = static_cast<std::uint32_t>(comm.flows.size());
  comm.copies = static_cast<std::int32_t>(copies.size());
  std::unordered_set<cost::ChannelId> own;
  for (const Flow& flow : comm.flows) { own.insert(flow.channels.begin(), flow.channels.end()); }
  for (std::size_t i = 1; i < copies.size(); ++i) {
    const auto copy = plan_collective(key.op, plan.algorithm, copies[i], key.payload, *router_);
    for (Flow& flow : flows(copy)) {
      const bool meets = std::any_of(flow.channels.begin(), flow.channels.end(),
                                     [&own](cost::ChannelId c) { return own.contains(c); });
      if (meets) { comm.flows.push_back(std::move(flow)); }
    }
  }
  graph.comms.push_back(std::move(comm));
  const auto index = static_cast<std::uint32_t>(graph.comms.size() - 1);
  known_.emplace(key, index);
  return index;
}

bool CommTable::alike(cost::CollectiveOp op, const GroupCopies& copies, Bytes payload) {
  std::vector<std::vector<Flow>> all;
  std::vector<double> latencies;
  Loads loads;
  for (const std::vector<int>& devices : copies) {
    const auto plan = plan_collective(op, algorithm_of(*strategy_, op), devices, payload, *router_);
    all.push_back(flows(plan));
    latencies.push_back(plan.latency.value);
    add_loads(all.back(), loads);
  }
  const auto time = [&](std::size_t i) {
    return latencies[i] + slowest(all[i], loads, *topology_);
  };
  const double first = time(0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (std::abs(time(i) - first) > 1e-9 * first) { return false; }
  }
  return true;
}

}  // namespace tsim::strategies
