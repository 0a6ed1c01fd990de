// Several iterations of workers that meet at parameter servers.
#pragma once

#include "sim/simulation.hpp"

namespace tsim::sim {

/// Fills graph, timeline and `async` of `result`; servers on devices of their own are one stage
/// more. There is no closed form.
void run_async(const strategies::BuildInput& input, const Scenario& scenario, Simulation& result);

}  // namespace tsim::sim
