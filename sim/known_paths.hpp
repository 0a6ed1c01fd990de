// Simulations of many scenarios on one cluster, whose paths are found once.
#pragma once

#include "sim/simulation.hpp"

namespace tsim::sim {

/// As those without a router, which is one for the scenario's topology. The run has no closed form.
Simulation run_scenario(const Scenario& scenario, cost::Router& router);
ScenarioPlan plan_scenario(const Scenario& scenario, cost::Router& router);

}  // namespace tsim::sim
