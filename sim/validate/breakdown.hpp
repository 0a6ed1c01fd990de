// Where the time of a simulated step goes.
#pragma once

#include "sim/validate/outcome.hpp"

namespace tsim::validate {

/// Shares of the step, mean over ranks. Computing is divided in the proportion of the kernels'
/// times; communication that a rank waits for goes to the group that it runs for, of several at a
/// time to the one that began first.
Parts breakdown(const sim::Scenario& scenario, const sim::Simulation& simulation,
                const sim::Report& report);

}  // namespace tsim::validate
