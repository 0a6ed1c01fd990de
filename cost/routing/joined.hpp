// Whether a cluster is one piece.
#pragma once

#include <optional>

#include "cost/topology.hpp"

namespace tsim::cost {

/// Two devices that no links join, even when other devices pass messages on; none when all are
/// joined.
std::optional<Unreachable> devices_apart(const Topology& topology);

}  // namespace tsim::cost
