// Which measured thing a kernel is.
#pragma once

#include <optional>

#include "cost/measured.hpp"
#include "models/kernel.hpp"

namespace tsim::cost {

/// The thing to time for a kernel: its operation and shape, or the nearest operation that is timed
/// (a root-mean-square norm: a layer norm; an element-wise kernel of any other sort: a copy or an
/// addition, as many passes over memory as it makes). None for a kernel without a shape.
std::optional<Subject> subject_of(const models::Kernel& kernel);

/// Bytes that a subject moves at least.
double smooth_bytes(const Subject& subject);

/// FLOPs of a subject that runs on the matrix units; 0 for others.
double smooth_flops(const Subject& subject);

}  // namespace tsim::cost
