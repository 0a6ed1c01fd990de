// Bandwidth shared between flows that meet on channels, max-min fair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::sim {

/// Flows in a network of channels, found anew only where something changed: the flows that are
/// joined to a change by channels they share, and nobody else.
///   max-min fairness by progressive filling   [Bertsekas & Gallager, Data Networks, 1992, 6.5.2]
class MaxMin {
 public:
  using FlowId = std::uint32_t;

  explicit MaxMin(std::span<const cost::Channel> channels);

  /// A flow of `bytes` > 0 along `path` (not empty; a channel listed twice is loaded twice), which
  /// must stay where it is. Its rate is set by the next settle().
  FlowId start(std::span<const cost::ChannelId> path, double bytes);
  /// The flow has moved all its bytes; its number may be given to another one.
  void end(FlowId flow);
  /// Whether a flow has started or ended since the last settle().
  bool changed() const { return !dirty_.empty(); }
  /// Shares the bandwidth from `now` on; afterwards rescheduled() lists the flows whose end has
  /// moved, each once.
  void settle(double now);
  std::span<const FlowId> rescheduled() const { return rescheduled_; }
  /// When the flow ends if nothing changes.
  double end_time(FlowId flow) const { return flows_[flow].end; }

 private:
  struct Flow {
    std::span<const cost::ChannelId> path;
    double left = 0;   // bytes, at `since`
    double since = 0;  // last change of its rate
    double rate = 0;
    double end = 0;
    double share = 0;  // rate being found
    std::uint64_t seen = 0;
    bool fixed = false;
    std::vector<std::uint32_t> at;  // by place in the path: its place among the channel's users
  };
  struct Use {
    FlowId flow = 0;
    std::uint32_t hop = 0;  // place in the flow's path
  };
  struct Wire {
    double rate = 0;
    double left = 0;            // of the rate, while shares are found
    std::uint32_t unfixed = 0;  // uses without a share
    std::uint64_t seen = 0;
    std::vector<Use> users;
  };

  void collect(cost::ChannelId from);
  void fill();
  void fix_users(Wire& wire, double share);
  void reschedule(double now);

  std::vector<Wire> wires_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<cost::ChannelId> dirty_;
  std::vector<FlowId> rescheduled_;
  std::uint64_t round_ = 0;  // marks what a settle() has seen
  // The group of flows and channels that is being solved.
  std::vector<cost::ChannelId> group_wires_;
  std::vector<FlowId> group_flows_;
};

}  // namespace tsim::sim
