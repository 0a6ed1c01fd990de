// Times of kernels that memory bounds: element by element, normalisation, softmax, loss, Adam.
#pragma once

#include <string>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

/// One pass over [elements]; reads and writes by operation:
///   copy x -> y; add x, y -> z; gelu x -> y; gelu_bwd x, dy -> dx; bias_gelu x, bias -> y;
///   dropout x -> y, mask (a byte an element); dropout_bwd dy, mask -> dx
Summary time_map(const std::string& op, const std::string& dtype, std::size_t elements, bool cold,
                 cudaStream_t stream);

/// Rows of [rows, columns]. "layernorm" with weight, bias and their gradients, "softmax", and
/// "cross_entropy" (of whole logits, one target a row); forward or backward.
Summary time_rows(const std::string& op, const std::string& dtype, bool backward, long rows,
                  long columns, cudaStream_t stream);

/// One fused step: reads a bf16 gradient, reads and writes fp32 weights and both moments, and
/// writes bf16 weights; 28 bytes a parameter.
Summary time_adam(std::size_t elements, cudaStream_t stream);

}  // namespace tsim::calibrate
