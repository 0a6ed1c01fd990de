// All forwards, then all backwards, the last micro-batch first.   [arXiv:1811.06965, sec. 2.3]
#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder gpipe(const PipelineShape& shape, int /*stage*/) {
  StageOrder order = forward_only(shape);
  for (int m = shape.micro_batches - 1; m >= 0; --m) { order.push_back({Phase::backward, m, 0}); }
  return order;
}

}  // namespace tsim::strategies
