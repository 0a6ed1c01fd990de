// Number formats of a training run as a scenario states them.
#pragma once

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// `precision` of a scenario, which may be absent; the moments' format depends on the optimizer.
strategies::Precision read_precision(const Place& place, strategies::Optimizer optimizer);

}  // namespace tsim::sim
