// DualPipe: two copies of the model in opposite directions; in the steady state a forward of one
// direction runs as one with a backward of the other (F&B). DualPipeV folds the directions into a
// V of two chunks with one copy.   [arXiv:2412.19437, sec. 3.2.1; github.com/deepseek-ai/DualPipe]
#include <array>
#include <deque>
#include <string>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

std::string text(int n) { return std::to_string(n); }

/// Writes one stage's order. Side 0 is the one where the pipeline fills first.
class Writer {
 public:
  /// `mirrored`: side 0 is chunk 1. `stride`: micro-batches of a chunk are chunk, chunk + stride...
  Writer(bool mirrored, int stride) : mirrored_(mirrored), stride_(stride) {}

  void forward(int side) { order_.push_back(next(Phase::forward, side, forwards_)); }
  void backward(int side) { order_.push_back(next(Phase::backward, side, backwards_)); }
  void input_grad(int side) {
    order_.push_back(next(Phase::input_grad, side, backwards_));
    waiting_.push_back(order_.back());
  }
  /// The weight gradient that has waited longest.
  void weight_grad() {
    if (waiting_.empty()) { return; }
    Action action = waiting_.front();
    waiting_.pop_front();
    action.phase = Phase::weight_grad;
    order_.push_back(action);
  }
  /// F&B.
  void pair(int forward_side, int backward_side) {
    forward(forward_side);
    order_.back().paired = true;
    backward(backward_side);
  }
  StageOrder order() && { return std::move(order_); }

 private:
  using Counts = std::array<int, 2>;
  Action next(Phase phase, int side, Counts& counts) const {
    const int chunk = mirrored_ ? 1 - side : side;
    const int i = counts[static_cast<std::size_t>(side)]++;
    return {phase, stride_ == 1 ? i : stride_ * i + chunk, chunk};
  }
  bool mirrored_;
  int stride_;
  Counts forwards_{}, backwards_{};
  std::deque<Action> waiting_;
  StageOrder order_;
};

/// Steps 6 to 8 of the reference: the second half of the last backwards leave their weight
/// gradients to the end.
void drain(Writer& w, int distance, int half) {
  const int last = distance + 1;
  bool split = false;
  const auto back = [&](int side) { split ? w.input_grad(side) : w.backward(side); };
  for (int i = 0; i < last; ++i) {
    const bool turn = i == last / 2;
    split = split || (turn && distance % 2 == 1);
    back(1);
    split = split || (turn && distance % 2 == 0);
    back(0);
  }
  for (int i = 0; i < half - distance - 1; ++i) {
    w.weight_grad();
    w.input_grad(0);
  }
  for (int i = 0; i < last; ++i) { w.weight_grad(); }
}

/// The eight steps of the reference for a stage `distance` away from its side's end of `half`
/// stages, with `each` micro-batches a side.
void write(Writer& w, int distance, int half, int each) {
  const int ahead = half - distance - 1;
  const bool middle = ahead == 0;
  for (int i = 0; i < 2 * ahead; ++i) { w.forward(0); }
  for (int i = 0; i < distance + 1; ++i) {
    w.forward(0);
    w.forward(1);
  }
  for (int i = 0; i < ahead; ++i) {
    w.input_grad(1);
    w.weight_grad();
    w.forward(1);
  }
  for (int i = 0; i < each - 2 * half + distance + 1; ++i) {
    if (i == 0 && middle) {  // apart, which shortens the fill
      w.forward(0);
      w.backward(1);
    } else {
      w.pair(0, 1);
    }
    w.pair(1, 0);
  }
  for (int i = 0; i < ahead; ++i) {
    w.backward(1);
    w.pair(1, 0);
  }
  drain(w, distance, half);
}

}  // namespace

StageOrder dualpipe(const PipelineShape& shape, int stage) {
  const int half = shape.stages / 2;
  const bool mirrored = stage >= half;
  Writer w(mirrored, 2);
  write(w, mirrored ? shape.stages - 1 - stage : stage, half, shape.micro_batches / 2);
  return std::move(w).order();
}

StageOrder dualpipe_v(const PipelineShape& shape, int stage) {
  Writer w(false, 1);
  write(w, stage, shape.stages, shape.micro_batches);
  return std::move(w).order();
}

/// (p/2-1)(F&B + B - 3W), B of inputs and weights, with F&B = F + B. Exact when F = W = B/2.
///   [arXiv:2412.19437, table 2]
double dualpipe_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return (shape.stages / 2.0 - 1) * (t.forward + 2 * t.backward - 3 * t.weight_grad);
}

/// (p-1)(F&B + B - 3W) of a chunk, half a stage: DualPipe's over twice the stages.
double dualpipe_v_idle(const PipelineShape& shape, const PhaseTimes& t) {
  return (shape.stages - 1) * (t.forward + 2 * t.backward - 3 * t.weight_grad) / 2;
}

/// As the reference asserts.
std::optional<Demand> dualpipe_demand(const PipelineShape& shape) {
  if (shape.stages % 2 != 0) {
    return Demand{Demand::Of::pipeline, "an even number: stages hold two parts, mirrored", {}};
  }
  if (shape.micro_batches % 2 != 0 || shape.micro_batches < 2 * shape.stages) {
    const std::string least = text(2 * shape.stages);
    return Demand{Demand::Of::micro_batches,
                  "an even number >= 2*pipeline = " + least + " with schedule \"dualpipe\"",
                  "at least " + least};
  }
  return std::nullopt;
}

std::optional<Demand> dualpipe_v_demand(const PipelineShape& shape) {
  if (shape.micro_batches >= 2 * shape.stages) { return std::nullopt; }
  const std::string least = text(2 * shape.stages);
  return Demand{Demand::Of::micro_batches,
                "at least 2*pipeline = " + least + " with schedule \"dualpipe_v\"",
                {}};
}

}  // namespace tsim::strategies
