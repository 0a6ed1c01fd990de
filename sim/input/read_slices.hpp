// Slices of tokens that samples are cut into, as a scenario states them.
#pragma once

#include "sim/input/json_reader.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// "auto", how many even ones, or a list of their tokens.
void read_slices(const Place& place, strategies::Strategy& strategy);

/// Whether the model and everything else of the strategy can be cut so.
void check_slices(const Scenario& scenario, Problems& problems);

}  // namespace tsim::sim
