// Which places of the cluster host which pipeline stages.
#pragma once

#include <vector>

#include "cost/topology.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// By stage, its place among the stages of `strategy.order`, so that messages of `size` between
/// neighbours take the least: first the longest of them, then their sum; equal ones keep the last
/// stage, which hands results out, nearest to its way out of the node, and then the given order.
/// Chunks that go round make the last stage a neighbour of the first. Up to 10 stages the best
/// order is found; of more, a first place is followed by the nearest one that is left, from 16
/// first places, and pairs are exchanged as long as that helps.
std::vector<int> stage_places_along(const Strategy& strategy, cost::Router& router, Bytes size);

}  // namespace tsim::strategies
