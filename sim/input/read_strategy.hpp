// The parts of a scenario that say how the model is trained.
#pragma once

#include <filesystem>

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"
#include "sim/input/read_stage_order.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// `strategy` and `precision` of a scenario; both may be absent. `stage_order`: what of it the
/// cluster has to settle.
strategies::Strategy read_strategy(const Place& strategy, const Place& precision,
                                   const std::filesystem::path& folder,
                                   StageOrderInput& stage_order);

/// `workload` of a scenario.
Workload read_workload(const Place& place);

}  // namespace tsim::sim
