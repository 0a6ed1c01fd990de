// What experts get to do, for people and for programs.
#pragma once

#include <iosfwd>

#include "sim/cli/print_report.hpp"

namespace tsim::cli {

/// A table by layer, and the cluster's time for a trillion tokens as reports of such models state
/// it; nothing for a model without experts.
void print_experts(const Answer& answer, std::ostream& out);

/// What the cluster needs for a trillion tokens.
double device_hours_per_trillion_tokens(const sim::Report& report);

}  // namespace tsim::cli
