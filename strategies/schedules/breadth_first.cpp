// Every micro-batch passes chunk 0, then every one chunk 1, ...; backwards the other way round:
// GPipe with several chunks.   [arXiv:2211.05953, sec. 4]
#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder breadth_first(const PipelineShape& shape, int /*stage*/) {
  StageOrder order;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    for (int m = 0; m < shape.micro_batches; ++m) { order.push_back({Phase::forward, m, chunk}); }
  }
  for (int chunk = shape.chunks - 1; chunk >= 0; --chunk) {
    for (int m = 0; m < shape.micro_batches; ++m) { order.push_back({Phase::backward, m, chunk}); }
  }
  return order;
}

}  // namespace tsim::strategies
