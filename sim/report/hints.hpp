// What would make a run fit in memory.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace tsim::sim {

/// Each hint names a setting and the bytes that it saves on the heaviest rank; largest saving
/// first. Empty when none of the settings known here would help.
std::vector<std::string> memory_hints(const Scenario& scenario, const Report& report);

/// "36.3 GiB".
std::string gibibytes(Bytes bytes);

}  // namespace tsim::sim
