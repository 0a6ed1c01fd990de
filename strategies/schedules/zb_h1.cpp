// ZB-H1: 1F1B whose weight gradients wait: stage s puts s of them off, so that every stage holds as
// much as the first one does under 1F1B, and input gradients travel back without them.
//   [arXiv:2401.10241, sec. 2.1, fig. 3]
#include <algorithm>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder zb_h1(const PipelineShape& shape, int stage) {
  const int warm_up = std::min(shape.stages - 1 - stage, shape.micro_batches);
  StageOrder order;
  int weights = 0;
  for (int m = 0; m < shape.micro_batches + warm_up; ++m) {
    if (m < shape.micro_batches) { order.push_back({Phase::forward, m}); }
    if (m < warm_up) { continue; }
    order.push_back({Phase::input_grad, m - warm_up});
    if (m - warm_up >= stage) { order.push_back({Phase::weight_grad, weights++}); }
  }
  while (weights < shape.micro_batches) { order.push_back({Phase::weight_grad, weights++}); }
  return order;
}

/// (p-1)(F+B-W), B of the input: a third of 1F1B's when F = B = W. Exact when m >= p and W is at
/// most F and B.   [arXiv:2401.10241, table 2]
double zb_h1_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return (shape.stages - 1) * (t.forward + t.backward - 2 * t.weight_grad);
}

}  // namespace tsim::strategies
