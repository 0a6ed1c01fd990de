#include "strategies/comm_table.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "strategies/exchange_plan.hpp"

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

/// A dispatch of tokens to experts, or the way back.
bool is_exchange(const CommKey& key) {
  return key.op == cost::CollectiveOp::all_to_all && key.group.axis == GroupAxis::plane;
}

/// One flow for each channel.
std::vector<Flow> flows_of(const cost::DispatchPlan& plan) {
  std::vector<Flow> flows;
  flows.reserve(plan.loads.size());
  for (const auto& [channel, bytes] : plan.loads) { flows.push_back({{channel}, bytes}); }
  return flows;
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

/// What `key` says over `devices`, without its label.
Comm CommTable::lay(const CommKey& key, std::string_view algorithm,
                    const std::vector<int>& devices) {
  Comm comm{.label = {},
            .algorithm = "copy",
            .stream = key.stream,
            .ranks = ranks_in(devices),
            .payload = key.payload,
            .latency = {},
            .flows = {},
            .op = key.op,
            .devices = devices};
  if (is_copy(key.group.axis)) {
    HostCopies::Copy copy =
        copies_.copy(key.group.axis, key.stream, devices.front(), to_double(key.payload));
    comm.latency = copy.latency;
    comm.flows = std::move(copy.flows);
    return comm;
  }
  if (is_exchange(key)) {
    const auto plan = plan_exchange(*strategy_, devices, traffic_of(key), *router_);
    comm.algorithm = plan.algorithm;
    comm.latency = plan.latency;
    comm.flows = flows_of(plan);
    comm.costs = plan.costs;
    return comm;
  }
  std::vector<int> rooted = devices;  // the root first
  std::rotate(rooted.begin(), rooted.begin() + key.root, rooted.end());
  const auto plan = plan_collective(key.op, algorithm, rooted, key.payload, *router_);
  comm.devices = std::move(rooted);
  comm.algorithm = plan.algorithm;
  comm.latency = plan.latency;
  comm.flows = flows(plan);
  comm.costs = plan.costs;
  return comm;
}

ExchangeTraffic CommTable::traffic_of(const CommKey& key) const {
  if (draws_ == nullptr || key.layer == 0) { return {key.payload}; }
  const auto layer = static_cast<std::size_t>(std::abs(key.layer)) - 1;
  const std::vector<std::int64_t>& shadows = draws_->shadows[layer];
  return {key.payload, &draws_->layers[layer], key.layer < 0, &shadows};
}

/// Of a group whose ranks are all as its first one, the flows on that one's channels, unless others
/// take longer.
void CommTable::keep_first(Comm& comm) {
  std::unordered_set<cost::ChannelId> of_first;
  for (const int other : comm.devices) {
    if (other == comm.devices.front()) { continue; }
    for (const cost::Path* path : {&router_->path(comm.devices.front(), other),
                                   &router_->path(other, comm.devices.front())}) {
      of_first.insert(path->channels.begin(), path->channels.end());
    }
  }
  std::vector<Flow> kept;
  std::copy_if(comm.flows.begin(), comm.flows.end(), std::back_inserter(kept),
               [&](const Flow& flow) { return of_first.contains(flow.channels.front()); });
  Loads loads;
  add_loads(comm.flows, loads);
  const double all = slowest(comm.flows, loads, *topology_);
  if (slowest(kept, loads, *topology_) >= all * (1 - 1e-9)) { comm.flows = std::move(kept); }
}

std::uint32_t CommTable::comm(TaskGraph& graph, const CommKey& key, const std::string& label,
                              const GroupCopies& copies) {
  const auto found = known_.find(key);
  if (found != known_.end()) { return found->second; }
  Comm comm = lay(key, algorithm_of(*strategy_, key.op), copies.front());
  comm.label = label;
  if (key.alone && is_exchange(key)) { keep_first(comm); }
  comm.own_flows = static_cast<std::uint32_t>(comm.flows.size());
  comm.copies = static_cast<std::int32_t>(copies.size());
  std::unordered_set<cost::ChannelId> own;
  for (const Flow& flow : comm.flows) { own.insert(flow.channels.begin(), flow.channels.end()); }
  for (std::size_t i = 1; i < copies.size(); ++i) {
    Comm copy = lay(key, comm.algorithm, copies[i]);
    for (Flow& flow : copy.flows) {
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
  return alike({.stream = {}, .op = op, .group = {}, .payload = payload}, copies);
}

bool CommTable::alike(const CommKey& key, const GroupCopies& copies) {
  std::vector<Comm> all;
  Loads loads;
  all.reserve(copies.size());
  for (const std::vector<int>& devices : copies) {
    all.push_back(lay(key, algorithm_of(*strategy_, key.op), devices));
    add_loads(all.back().flows, loads);
  }
  const auto time = [&](const Comm& comm) {
    return comm.latency.value + slowest(comm.flows, loads, *topology_);
  };
  const double first = time(all.front());
  return std::all_of(all.begin(), all.end(), [&](const Comm& comm) {
    return std::abs(time(comm) - first) <= 1e-9 * first;
  });
}

}  // namespace tsim::strategies
