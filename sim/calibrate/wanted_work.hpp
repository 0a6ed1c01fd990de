// What a calibration for scenarios should time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace tsim::calibrate {

/// One thing to time and the share of the scenarios' predicted iterations that hangs on it.
struct Wanted {
  std::string line;  // of tsim-measure
  double share = 0;  // of the kernels' and communications' time, mean over the scenarios
};

/// Distinct work lines of all kernels and collectives, most valuable first.
std::vector<Wanted> wanted_work(std::span<const sim::Report> reports);

}  // namespace tsim::calibrate
