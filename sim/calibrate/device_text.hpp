// The device file that points to measured points.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cost/device.hpp"
#include "sim/calibrate/make_device.hpp"

namespace tsim::calibrate {

/// The file of `base` with the name of `path` and with "measured" set to the points beside it.
/// `slowdowns`: of products beside a collective, for overlap_slowdown; none: as the base has it.
std::string device_text(const cost::Device& base, const std::filesystem::path& path,
                        std::vector<double> slowdowns);

/// The same for this machine's processor, whose peaks are the measured `ceilings` in fp32, with the
/// name that the system gives it and its memory.
std::string processor_text(const cost::Device& base, const std::filesystem::path& path,
                           const std::string& processor, const Ceilings& ceilings);

}  // namespace tsim::calibrate
