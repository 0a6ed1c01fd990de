// Data parallelism through parameter servers as a scenario states it.
#pragma once

#include "sim/input/json_reader.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// {"mode": "bsp" | "ssp" | "asp", "staleness", "iterations", "servers"}; absent: replicas meet in
/// collectives.
strategies::AsyncData read_async(const Place& place);

/// Whether everything else of the strategy goes with parameter servers.
void check_async(const Scenario& scenario, Problems& problems);

}  // namespace tsim::sim
