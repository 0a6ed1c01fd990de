// ZB-V: two chunks a stage that form a V, so that the loss is on the first stage and every stage
// holds as much as 1F1B's first one; weight gradients fill the gaps.
//   [arXiv:2401.10241, sec. 6; arXiv:2405.15362]
#include <algorithm>
#include <array>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

class Writer {
 public:
  explicit Writer(int micro_batches) : micro_batches_(micro_batches) {}

  /// The next `phase` of `chunk`; micro-batches beyond the last are left out.
  void add(Phase phase, int chunk) {
    const int m = count(phase, chunk)++;
    if (m < micro_batches_) { order_.push_back({phase, m, chunk}); }
  }
  void backward(int chunk) {
    add(Phase::input_grad, chunk);
    add(Phase::weight_grad, chunk);
  }
  int& count(Phase phase, int chunk) {
    return counts_[static_cast<std::size_t>(phase)][static_cast<std::size_t>(chunk)];
  }
  StageOrder order() && { return std::move(order_); }

 private:
  int micro_batches_;
  std::array<std::array<int, 2>, 16> counts_{};
  StageOrder order_;
};

}  // namespace

StageOrder zb_v(const PipelineShape& shape, int stage) {
  const int p = shape.stages;
  const int m = std::max(2 * p - 1, shape.micro_batches);  // the order is cut from a full one
  Writer w(shape.micro_batches);
  for (int i = 0; i < 2 * (p - stage) - 1; ++i) { w.add(Phase::forward, 0); }
  for (int i = 0; i < stage; ++i) {
    w.add(Phase::forward, 1);
    w.add(Phase::forward, 0);
  }
  for (int i = 0; i < p - stage; ++i) {
    w.add(Phase::forward, 1);
    w.backward(1);
  }
  while (w.count(Phase::forward, 1) < m) {
    if (w.count(Phase::forward, 0) < m) { w.add(Phase::forward, 0); }
    w.backward(0);
    w.add(Phase::forward, 1);
    w.backward(1);
  }
  for (int i = 0; i < stage; ++i) {
    w.add(Phase::input_grad, 0);
    w.add(Phase::input_grad, 1);
  }
  for (int i = 0; i < p - stage; ++i) { w.backward(0); }
  for (const int chunk : {1, 0}) {
    while (w.count(Phase::weight_grad, chunk) < m) { w.add(Phase::weight_grad, chunk); }
  }
  return std::move(w).order();
}

/// With F = B = W no stage idles between its first and its last phase; the last stage starts
/// (p-1) F/2 late. Exact for F = B = W and m >= 2p-1.   [arXiv:2401.10241, sec. 6]
double zb_v_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return (shape.stages - 1) * t.forward / 2;
}

}  // namespace tsim::strategies
