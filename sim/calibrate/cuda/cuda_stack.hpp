// The stack of a check on one or several devices of this host, in bf16.
#pragma once

#include "sim/calibrate/stack/stack_shape.hpp"

namespace tsim::calibrate {

/// Trains the stack for some steps, a thread for each replica's device, and times them: as they
/// run, and once more with events around every kernel. NotHere when the machine or a library lacks
/// what it needs; OutOfMemory when it does not fit.
StackTimes run_cuda_stack(const StackShape& shape);

}  // namespace tsim::calibrate
