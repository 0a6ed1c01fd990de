// The parts of a scenario that say how the model is trained.
#pragma once

#include <filesystem>

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// `strategy` and `precision` of a scenario; both may be absent.
strategies::Strategy read_strategy(const Place& strategy, const Place& precision,
                                   const std::filesystem::path& folder);

/// `workload` of a scenario.
Workload read_workload(const Place& place);

}  // namespace tsim::sim
