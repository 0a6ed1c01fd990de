// One device with what was measured on it.
#pragma once

#include <iosfwd>

#include "cost/device.hpp"

namespace tsim::cli {

/// Data sheet, provenance, series with the errors of left-out points and of the surface, links.
void print_device(const cost::Device& device, std::ostream& out);
void print_device_json(const cost::Device& device, std::ostream& out);

/// Every point that has a surface: the measured time against the surface's, both axes logarithmic,
/// with the line on which they agree.
void draw_device(const cost::Device& device, std::ostream& out);

}  // namespace tsim::cli
