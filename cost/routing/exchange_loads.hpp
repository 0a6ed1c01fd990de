// What an exchange between all of a group of devices puts on the wires, without a path for each
// pair.
#pragma once

#include <span>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

struct ExchangeLoads {
  std::vector<double> bytes;    // by channel of the topology
  bool any_inside = false;      // messages inside a node
  bool any_between = false;     // messages between nodes
  Seconds inside{}, between{};  // latency of the longest path of these
};

/// Adds up `sent[i * n + j]` bytes from the i-th of n devices to the j-th along Router's paths.
/// What leaves a device for other nodes, what arrives there, and what goes from one outer vertex to
/// a device are added up first where groups are large: n^2 additions, and one path for each outer
/// vertex and device. Throws Unreachable as Router does.
ExchangeLoads exchange_loads(std::span<const int> devices, std::span<const double> sent,
                             Router& router);

}  // namespace tsim::cost
