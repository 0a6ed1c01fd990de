// One micro-batch in flight: it passes all stages forward and backward before the next one enters.
#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder naive(const PipelineShape& shape, int /*stage*/) {
  StageOrder order;
  for (int m = 0; m < shape.micro_batches; ++m) {
    order.push_back({Phase::forward, m, 0});
    order.push_back({Phase::backward, m, 0});
  }
  return order;
}

double naive_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return shape.micro_batches * (shape.stages - 1) * (t.forward + t.backward);
}

}  // namespace tsim::strategies
