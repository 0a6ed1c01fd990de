// How an exchange of tokens loads the wires.
#pragma once

#include <vector>

#include "cost/dispatch.hpp"
#include "strategies/exchange.hpp"

namespace tsim::strategies {

/// An exchange over `devices` of copies of tokens, one for each of a token's experts. The
/// strategy's dispatch says which way they take; `rails` saves copies to one node and to one
/// device, as many as random choices have in the mean.
cost::DispatchPlan plan_exchange(const Strategy& strategy, const std::vector<int>& devices,
                                 const ExchangeTraffic& exchange, cost::Router& router);

}  // namespace tsim::strategies
