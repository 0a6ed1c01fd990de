// What is kept in memory when products are computed in a narrow format.
#pragma once

#include "models/dtype.hpp"

namespace tsim::models {

/// The format of activations and gradients between products in `compute`: bf16 where that is fp8
/// [arXiv:2412.19437, sec. 3.3.1], else the same.
constexpr DType stored_format(DType compute) {
  return compute == DType::fp8 ? DType::bf16 : compute;
}

}  // namespace tsim::models
