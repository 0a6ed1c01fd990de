// `tsim calibrate --check`: a prediction against a stack that is really trained.
#pragma once

#include <iosfwd>

#include "sim/cli/options.hpp"

namespace tsim::cli {

/// Prints the stack's description (--list), or the comparison with what was measured: in a file
/// (--measured), on this machine's processor (--device cpu) or its devices (--device cuda).
/// Throws sim::InputErrors, and std::runtime_error when nothing could be measured.
int check_command(const CalibrateOptions& options, std::ostream& out);

}  // namespace tsim::cli
