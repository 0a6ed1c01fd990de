// What ranks with different experts send each other.
#pragma once

#include <vector>

#include "cost/collectives.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// A balanced exchange over `devices`: each has `payload` bytes, a copy of a token for each of its
/// experts, an equal part of them for every device. The strategy's dispatch says which way they
/// take; `rails` saves copies to one node and to one device, as many as random choices have in the
/// mean.
cost::CollectivePlan exchange_plan(const Strategy& strategy, const std::vector<int>& devices,
                                   Bytes payload, cost::Router& router);

}  // namespace tsim::strategies
