// Whether every kind of device holds what its ranks need.
#pragma once

#include <vector>

#include "sim/memory_trace.hpp"
#include "sim/report/report.hpp"

namespace tsim::sim {

/// `peaks`: of each simulated rank of `graph`. Fills the report's kinds, and from the tightest of
/// them its device, verdict and hints. Stages are known.
void add_verdict(const Scenario& scenario, const strategies::TaskGraph& graph,
                 const std::vector<MemoryPeak>& peaks, Report& report);

}  // namespace tsim::sim
