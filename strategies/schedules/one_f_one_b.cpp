// Fill, alternate, drain: stage s holds at most p - s micro-batches.   [arXiv:2104.04473, sec. 2.2]
#include <algorithm>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {

StageOrder one_f_one_b(const PipelineShape& shape, int stage) {
  const int warm_up = std::min(shape.stages - 1 - stage, shape.micro_batches);
  StageOrder order;
  for (int m = 0; m < shape.micro_batches + warm_up; ++m) {
    if (m < shape.micro_batches) { order.push_back({Phase::forward, m, 0}); }
    if (m >= warm_up) { order.push_back({Phase::backward, m - warm_up, 0}); }
  }
  return order;
}

}  // namespace tsim::strategies
