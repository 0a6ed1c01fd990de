// Interleaved 1F1B: v chunks a stage, micro-batches taken p at a time.  [arXiv:2104.04473,
// sec. 2.2]
#include <algorithm>
#include <cassert>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

/// The k-th forward of a stage: rounds of p micro-batches pass chunk 0, then chunk 1, ...
Action nth(const PipelineShape& shape, int k, Phase phase) {
  const int round = shape.stages * shape.chunks;
  const int chunk = k % round / shape.stages;
  return {.phase = phase,
          .micro_batch = k / round * shape.stages + k % shape.stages,
          .chunk = phase == Phase::forward ? chunk : shape.chunks - 1 - chunk};
}

}  // namespace

StageOrder interleaved(const PipelineShape& shape, int stage) {
  assert(shape.micro_batches % shape.stages == 0);  // else the strict order has holes
  const int total = shape.micro_batches * shape.chunks;
  const bool all_at_once = shape.micro_batches == shape.stages;
  const int ramp = 2 * (shape.stages - stage - 1) + (shape.chunks - 1) * shape.stages;
  const int warm_up = all_at_once ? total : std::min(ramp, total);
  StageOrder order;
  for (int k = 0; k < total + warm_up; ++k) {
    if (k < total) { order.push_back(nth(shape, k, Phase::forward)); }
    if (k >= warm_up) { order.push_back(nth(shape, k - warm_up, Phase::backward)); }
  }
  return order;
}

}  // namespace tsim::strategies
