// Tables of measured iterations that vTrain publishes
// [github.com/VIA-Research/vTrain, data/ground_truth_*.csv].
#pragma once

#include <filesystem>

#include "sim/validate/truth.hpp"

namespace tsim::sim {

/// All rows of the table at `path`, on the cluster and with the settings of the sampled source
/// vtrain_single, or vtrain_multi where a row has more than eight devices. Throws InputErrors.
validate::Source read_vtrain(const std::filesystem::path& path);

}  // namespace tsim::sim
