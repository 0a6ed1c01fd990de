// Operators by name, and the formats in which what they keep waits for the backward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/op_graph.hpp"

namespace tsim::models {

/// Whether `name` means `op`: its name ("attention.query_up"), its part ("norm") or its kind
/// ("rms_norm").
bool means(std::string_view name, const Op& op);

/// What the operators that `operators` means keep for their backward is kept in `format`.
struct KeptFormat {
  std::string operators;
  DType format{};
  bool operator==(const KeptFormat&) const = default;
};

/// The same graph, where operators that an entry means keep a narrower copy of each activation that
/// they would keep, and their kernels write that copy besides   [arXiv:2412.19437, sec. 3.3.3].
/// Whatever other operators keep of the same tensor stays as it is.
OpGraph keep_in_formats(OpGraph graph, const std::vector<KeptFormat>& formats);

/// The narrower copy of its input `id` that `op` keeps; -1: none.
TensorId kept_copy(const OpGraph& graph, const Op& op, TensorId id);

}  // namespace tsim::models
