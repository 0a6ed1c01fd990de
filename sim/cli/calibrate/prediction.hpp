// A scenario with its answer and all of its kernels.
#pragma once

#include <filesystem>
#include <span>

#include "sim/cli/options.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario.hpp"

namespace tsim::cli {

struct Prediction {
  sim::Scenario scenario;
  sim::Report report;  // with all lookups, whether the device was measured or not
};

/// `settings` change the scenario.
Prediction prediction_of(const std::filesystem::path& scenario, std::span<const Setting> settings);

}  // namespace tsim::cli
