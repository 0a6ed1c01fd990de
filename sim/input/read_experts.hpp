// How a scenario spreads experts: the degrees, and the object strategy.moe.
#pragma once

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Reads "expert", "expert_tensor" and "moe" of a strategy.
void read_experts(Reader& in, strategies::Strategy& strategy);

}  // namespace tsim::sim
