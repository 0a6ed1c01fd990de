// What an import found, as text.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <vector>

#include "sim/calibrate/make_device.hpp"

namespace tsim::cli {

/// The files with what was taken of each; the series with their residuals; links.
void print_calibration(const std::vector<std::filesystem::path>& paths,
                       const std::vector<calibrate::ImportedPoints>& files,
                       const calibrate::Calibration& calibration, std::ostream& out);

/// Series with their number of points, the error of left-out points and of the surface.
void print_series(const cost::Measured& measured, std::ostream& out);

/// alpha and rate of copies and collectives.
void print_links(const cost::Measured& measured, std::ostream& out);

/// Rates of copies from each device to each other, the longest that were timed.
void print_pairs(const cost::Measured& measured, std::ostream& out);

}  // namespace tsim::cli
