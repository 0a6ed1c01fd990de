// How a tensor gets from one layout over a tensor group to another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cost/tuning.hpp"
#include "models/units.hpp"
#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::strategies {

/// One step. A slice takes a part of what the rank holds and moves nothing.
struct ReshardStep {
  std::optional<cost::CollectiveOp> op;  // none: a slice
  RankRun ranks{};
  /// The collective's buffer as cost::plan_collective counts it: before a reduce-scatter, after an
  /// all-gather, what a rank holds in an all-reduce or all-to-all.
  Bytes size;
  bool operator==(const ReshardStep&) const = default;
};

/// A tensor to be moved: its whole extent by dimension, and the bytes of one element.
struct Resharding {
  std::vector<std::int64_t> extent;
  int element = 2;
};

/// The sequence of all-gathers, slices, all-to-alls and, where summands are left, all-reduces and
/// reduce-scatters that turns `from` into `to` with the fewest bytes received by a rank; of equal
/// ones the shortest. `to` has no summands left. A step works on neighbouring bits, so that its
/// group is a run of ranks.
///   [arXiv:2105.04663, sec. 3.3; MindSpore's tensor redistribution, arXiv:2104.12369, sec. 4]
std::vector<ReshardStep> reshard(const TensorLayout& from, const TensorLayout& to,
                                 const Resharding& tensor);

/// Bytes that a rank receives over all steps.
double received(std::span<const ReshardStep> steps);

}  // namespace tsim::strategies
