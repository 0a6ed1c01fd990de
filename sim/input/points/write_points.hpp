// Measured points as the JSON that read_points reads.
#pragma once

#include <string>

#include "cost/measured.hpp"

namespace tsim::sim {

/// One point a line. Times to five digits.
std::string points_text(const cost::Measured& measured);

}  // namespace tsim::sim
