#include "sim/steps/max_min.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tsim::sim {

using cost::ChannelId;

namespace {

// Channels whose shares differ by less are full at once: rounding only.
constexpr double kSame = 1 + 1e-12;

std::size_t index(ChannelId c) { return static_cast<std::size_t>(c); }

}  // namespace

MaxMin::MaxMin(std::span<const cost::Channel> channels) : wires_(channels.size()) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    wires_[c].rate = channels[c].bandwidth.value;
  }
}

MaxMin::FlowId MaxMin::start(std::span<const ChannelId> path, double bytes) {
  assert(!path.empty() && bytes > 0);
  if (free_.empty()) {
    free_.push_back(static_cast<FlowId>(flows_.size()));
    flows_.emplace_back();
  }
  const FlowId id = free_.back();
  free_.pop_back();
  Flow& flow = flows_[id];
  flow.path = path;
  flow.left = bytes;
  flow.rate = 0;
  flow.at.clear();
  for (std::uint32_t hop = 0; hop < path.size(); ++hop) {
    Wire& wire = wires_[index(path[hop])];
    flow.at.push_back(static_cast<std::uint32_t>(wire.users.size()));
    wire.users.push_back({id, hop});
    dirty_.push_back(path[hop]);
  }
  return id;
}

void MaxMin::end(FlowId id) {
  Flow& flow = flows_[id];
  for (std::uint32_t hop = 0; hop < flow.path.size(); ++hop) {
    std::vector<Use>& users = wires_[index(flow.path[hop])].users;
    const std::uint32_t place = flow.at[hop];
    users[place] = users.back();
    flows_[users[place].flow].at[users[place].hop] = place;
    users.pop_back();
    dirty_.push_back(flow.path[hop]);
  }
  free_.push_back(id);
}

void MaxMin::settle(double now) {
  rescheduled_.clear();
  ++round_;
  for (const ChannelId c : dirty_) {
    if (wires_[index(c)].seen == round_ || wires_[index(c)].users.empty()) { continue; }
    collect(c);
    fill();
    reschedule(now);
  }
  dirty_.clear();
}

/// Everything that shares channels with `from`, over any number of flows.
void MaxMin::collect(ChannelId from) {
  group_wires_.assign(1, from);
  group_flows_.clear();
  wires_[index(from)].seen = round_;
  for (std::size_t i = 0; i < group_wires_.size(); ++i) {
    Wire& wire = wires_[index(group_wires_[i])];
    wire.left = wire.rate;
    wire.unfixed = static_cast<std::uint32_t>(wire.users.size());
    for (const Use& use : wire.users) {
      Flow& flow = flows_[use.flow];
      if (flow.seen == round_) { continue; }
      flow.seen = round_;
      flow.fixed = false;
      group_flows_.push_back(use.flow);
      for (const ChannelId c : flow.path) {
        Wire& other = wires_[index(c)];
        if (other.seen == round_) { continue; }
        other.seen = round_;
        group_wires_.push_back(c);
      }
    }
  }
}

/// The channel with the least to give to each of its flows is full first; its flows have their
/// share then, and the others go on with what these leave.
void MaxMin::fill() {
  std::size_t open = group_wires_.size();
  while (open > 0) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open; ++i) {
      const Wire& wire = wires_[index(group_wires_[i])];
      if (wire.unfixed == 0) { continue; }
      least = std::min(least, wire.left / wire.unfixed);
      group_wires_[kept++] = group_wires_[i];
    }
    open = kept;
    for (std::size_t i = 0; i < open; ++i) {
      Wire& wire = wires_[index(group_wires_[i])];
      if (wire.unfixed > 0 && wire.left <= least * wire.unfixed * kSame) { fix_users(wire, least); }
    }
  }
}

void MaxMin::fix_users(Wire& wire, double share) {
  for (const Use& use : wire.users) {
    Flow& flow = flows_[use.flow];
    if (flow.fixed) { continue; }
    flow.fixed = true;
    flow.share = share;
    for (const ChannelId c : flow.path) {
      Wire& crossed = wires_[index(c)];
      crossed.left = std::max(0.0, crossed.left - share);
      --crossed.unfixed;
    }
  }
}

void MaxMin::reschedule(double now) {
  for (const FlowId id : group_flows_) {
    Flow& flow = flows_[id];
    if (flow.share == flow.rate) { continue; }
    flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
    flow.since = now;
    flow.rate = flow.share;
    flow.end = now + flow.left / flow.rate;
    rescheduled_.push_back(id);
  }
}

}  // namespace tsim::sim
