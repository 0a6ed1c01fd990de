// Whether every kind of device holds what its ranks need.
#pragma once

#include "sim/report/report.hpp"

namespace tsim::sim {

/// Fills the report's kinds, and from the tightest of them its device, verdict and hints. Stages
/// are known.
void add_verdict(const Scenario& scenario, const Simulation& simulation, Report& report);

}  // namespace tsim::sim
