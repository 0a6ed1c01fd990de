// What the hosts hold for their devices.
#pragma once

#include "sim/report/report.hpp"

namespace tsim::sim {

/// Fills the report's fullest host; what does not fit there is part of the verdict. Stages are
/// known.
void add_host_memory(const Scenario& scenario, const Simulation& simulation, Report& report);

}  // namespace tsim::sim
