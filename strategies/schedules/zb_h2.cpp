// ZB-H2: twice the warm-up of 1F1B, and stage s puts 2 s weight gradients off: with F = B = W no
// stage idles between its first and its last phase.   [arXiv:2401.10241, sec. 2.2, fig. 3]
#include <algorithm>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder zb_h2(const PipelineShape& shape, int stage) {
  const int m = shape.micro_batches;
  int forwards = std::min(2 * (shape.stages - stage) - 1, m);
  StageOrder order;
  for (int f = 0; f < forwards; ++f) { order.push_back({Phase::forward, f}); }
  int weights = 0;
  for (int b = 0; b < m; ++b) {
    order.push_back({Phase::input_grad, b});
    if (b >= 2 * stage) { order.push_back({Phase::weight_grad, weights++}); }
    if (forwards < m) { order.push_back({Phase::forward, forwards++}); }
  }
  while (weights < m) { order.push_back({Phase::weight_grad, weights++}); }
  return order;
}

/// The paper's (p-1)(F+B-2W) counts from a stage's first phase to its last one; a step that ends
/// for all stages together waits (p-1) F for the last stage's first forward besides, where
/// everything is one parallelogram. Exact when m >= 2p-1 and W <= B <= F.
///   [arXiv:2401.10241, table 2]
double zb_h2_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return (shape.stages - 1) * t.forward;
}

}  // namespace tsim::strategies
