// Tokens on their way to the ranks of their experts, and results on their way back.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cost/collectives.hpp"

namespace tsim::cost {

/// Ways of an unequal all-to-all over devices of several nodes.
///  direct        a message from each device to each other
///  hierarchical  inside nodes, to the neighbour in the receiver's place; when that is over, along
///                rails between nodes [arXiv:2201.05596, sec. 5.2; arXiv:2206.03382, sec. 3.4]
///  rails         along a rail to the sender's place in each node, and on from there while more
///                arrives [arXiv:2412.19437, sec. 3.2.2]
enum class DispatchWay : std::uint8_t { direct, hierarchical, rails };

/// `bytes[i * n + j]` from the i-th device to the j-th, a copy of a token for each of its experts.
/// Where a token is sent once to all its experts on one node, or on one device, that much of those
/// bytes is left (1: no copies are saved). `rails` knows both, the others know neither.
struct RowTraffic {
  std::span<const double> bytes;
  double node_share = 1.0;    // (0, 1]
  double device_share = 1.0;  // (0, 1]
};

/// An exchange with its messages added up by channel, which are many fewer: after `latency` the
/// bytes of all channels move at once, and it is over when the last one has none left.
struct DispatchPlan {
  std::string algorithm;
  Seconds latency{};
  std::vector<std::pair<ChannelId, double>> loads;  // ascending, above 0
  StepCosts costs{};
};
Seconds time_alone(const DispatchPlan& plan, const Topology& topology);

/// Plans the exchange. The regime is that of the tuning's all-to-all with the way's name. Throws
/// std::invalid_argument for hierarchical or rails over nodes with different numbers of devices.
DispatchPlan plan_dispatch(DispatchWay way, std::span<const int> devices, const RowTraffic& traffic,
                           Router& router);

/// Mean number of distinct groups among the `chosen` of `items` that lie in `groups` equal groups,
/// every choice equally likely: g (1 - C(n - n/g, k) / C(n, k)). 1 <= chosen <= items, groups
/// divides items.
double mean_groups_hit(double items, double groups, double chosen);

}  // namespace tsim::cost
