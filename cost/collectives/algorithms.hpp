// What the planner's algorithms have in common; their declarations, for registry.cpp.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cost/collectives.hpp"

namespace tsim::cost::collectives {

/// What is asked of an algorithm. At least two devices.
struct Request {
  CollectiveOp op{};
  std::span<const int> devices;
  double payload = 0;  // bytes
};

/// A plan under construction, in one regime of the library.
class Draft {
 public:
  Draft(const Regime& regime, Router& router) : regime_(regime), router_(router) {}

  Router& router() { return router_; }
  /// Latency of one step from a device to another.
  Seconds step(int from, int to);
  /// Adds payload to send, and returns the step's latency.
  Seconds send(int from, int to, double bytes);
  void add_latency(Seconds latency) { plan_.latency += latency; }
  /// Ends a step of an algorithm whose steps wait for one another: what it sent, on the channel
  /// that takes longest, is over before the next one starts.
  void end_step(Seconds latency);
  /// Adds what the regime asks for once.
  void finish(double payload);
  /// Time of the plan with the wires to itself.
  Seconds time() const { return plan_.latency + busiest(0); }
  CollectivePlan plan(std::string_view algorithm) &&;

 private:
  Seconds step(int from, int to, const Path& path) const;
  /// Of the transfers from the first-th on.
  Seconds busiest(std::size_t first, bool inside = false) const;

  const Regime& regime_;
  Router& router_;
  CollectivePlan plan_;
  std::vector<const Path*> paths_;  // of the transfers
  std::size_t ended_ = 0;           // transfers of steps that have ended
  Seconds serial_{};                // time of those steps' busiest channels
};

using Algorithm = void(const Request& request, Draft& draft);
Algorithm ring, tree, direct, dissemination, rails;    // ring.cpp, tree.cpp, direct.cpp
Algorithm halving_doubling, halving, doubling, bruck;  // halving.cpp
Algorithm hierarchical, hierarchical_serial, torus;    // hierarchical.cpp
Algorithm in_switch, reduce_broadcast, parameter_server, sharded_server;  // composed.cpp

/// Adds a double binary tree all-reduce and returns its latency (tree.cpp).
Seconds all_reduce_trees(std::span<const int> devices, double bytes, Draft& draft);

/// Time that the channel needs which all these load most, `bytes[i]` along `paths[i]`; of the
/// channels inside nodes only, if so wished.
Seconds busiest_channel(std::span<const Path* const> paths, std::span<const Transfer> bytes,
                        bool inside, const Topology& topology);

/// The devices of each node, nodes in the order of their first device.
std::vector<std::vector<int>> by_node(std::span<const int> devices, const Topology& topology);

/// An algorithm that these devices cannot run, with the reason.
std::invalid_argument not_possible(std::string_view algorithm, std::string_view reason);

}  // namespace tsim::cost::collectives
