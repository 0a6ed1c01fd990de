// Some devices of a cluster as a cluster of their own, on the same wires.
#pragma once

#include <span>

#include "cost/topology.hpp"

namespace tsim::cost {

/// The same vertices, links and channels, with devices[i] as device i. Distinct devices that exist.
Topology part_of(const Topology& whole, std::span<const int> devices);

}  // namespace tsim::cost
