// An operator of PyTorch as a thing that tsim looks up.
#pragma once

#include <optional>

#include "cost/measured.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::calibrate {

/// The subject of a profiler's "cpu_op" event with the shapes of its inputs: products (aten::mm,
/// addmm, bmm; transposes by the strides), gelu, add, copy, dropout, layer norm, softmax and their
/// gradients, fused attention, the concatenation of the gradients of queries, keys and values. None
/// for anything else.
std::optional<cost::Subject> subject_of_operator(const sim::Json& event);

/// Elements of a copy (aten::copy_); 0 for another operator.
std::int64_t copied_elements(const sim::Json& event);

}  // namespace tsim::calibrate
