// Which stage sits where: as numbered, as listed, or as the wires suggest.
#pragma once

#include "sim/input/json_reader.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// "given", "topology", or a list of places. A list is taken to the strategy; whether it names
/// every place once is checked here.
struct StageOrderInput {
  bool by_topology = false;
};
StageOrderInput read_stage_order(const Place& place, strategies::Strategy& strategy);

/// Searches where that was asked for; the cluster is there, the model's sizes are settled.
void settle_stage_order(const StageOrderInput& input, Scenario& scenario);

}  // namespace tsim::sim
