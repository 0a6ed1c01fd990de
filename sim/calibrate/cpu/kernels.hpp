// Kernels that are timed on this machine's processor, in fp32.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cost/measured.hpp"

namespace tsim::calibrate {

/// One call of the kernel that `subject` names, on operands of its own, by `threads` threads.
/// Products are Eigen's, split by rows of the result; the others are written out, each
/// thread a part. None for what a processor is not timed for: other formats, collectives,
/// attention.
std::optional<std::function<void()>> cpu_kernel(const cost::Subject& subject, int threads);

/// Bytes that the operands of cpu_kernel() take.
double operand_bytes(const cost::Subject& subject);

/// "Eigen 3.4.0"
std::string product_library();

}  // namespace tsim::calibrate
