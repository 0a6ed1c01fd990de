// ZB-auto: a list scheduler that knows what phases and messages take and how many activations fit.
// Input gradients first, then forwards while memory lasts, then weight gradients in the gaps; of a
// few ways to fill and to wait, the one that ends first.   [arXiv:2401.10241, sec. 3.1]
#include <algorithm>
#include <array>
#include <limits>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSlack = 1e-9;  // of the in-flight limit

/// What the search varies.
struct Choice {
  double patience = 0;     // waits for an arrival within so much of a weight gradient's time
  bool deep_fill = false;  // fills with 2(p-s)-1 forwards, not p-s
  bool keep_full = false;  // forwards before gradients while fewer than at the fill are in flight
};
constexpr std::array kPatience{0.0, 0.5, 1.0};

std::vector<Choice> choices() {
  std::vector<Choice> all;
  for (const double patience : kPatience) {
    for (const bool deep : {false, true}) {
      for (const bool full : {false, true}) { all.push_back({patience, deep, full}); }
    }
  }
  return all;
}

/// One stage while the order is made.
struct Stage {
  int forwards = 0, backwards = 0, weights = 0;  // started
  double free = 0;                               // when its last phase ends
  std::vector<double> forward_end, backward_end;
  StageOrder order;
};

class ListScheduler {
 public:
  ListScheduler(const PipelineShape& shape, const OrderCosts& costs, const Choice& choice)
      : shape_(shape), costs_(costs), choice_(choice) {
    stages_.resize(static_cast<std::size_t>(shape.stages));
    limit_ = costs.most_in_flight > 0 ? costs.most_in_flight : shape.stages;
  }

  void run() {
    for (double now = 0; now < kNever; now = next_event(now)) {
      while (start_some(now)) {}
    }
  }
  double makespan() const {
    double last = 0;
    for (const Stage& s : stages_) { last = std::max(last, s.free); }
    return last;
  }
  /// Sum of the stages' ends: the smaller the sooner their optimizers may step.
  double sum_of_ends() const {
    double sum = 0;
    for (const Stage& s : stages_) { sum += s.free; }
    return sum;
  }
  PipelineOrder order() && {
    PipelineOrder result;
    for (Stage& s : stages_) { result.push_back(std::move(s.order)); }
    return result;
  }

 private:
  PhaseTimes times(int stage) const {
    return costs_.seats.empty() ? PhaseTimes{} : costs_.seats[static_cast<std::size_t>(stage)];
  }
  Stage& at(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  const Stage& at(int stage) const { return stages_[static_cast<std::size_t>(stage)]; }

  static double end_of(const std::vector<double>& ends, int i) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= ends.size()) { return kNever; }
    return ends[at];
  }
  /// When the stage's next forward could start, as far as is known.
  double forward_arrival(int stage) const {
    const Stage& s = at(stage);
    if (s.forwards == shape_.micro_batches || !has_room(stage)) { return kNever; }
    return stage == 0 ? 0 : end_of(at(stage - 1).forward_end, s.forwards) + costs_.hop;
  }
  double backward_arrival(int stage) const {
    const Stage& s = at(stage);
    const bool last = stage + 1 == shape_.stages;
    return last ? end_of(s.forward_end, s.backwards)
                : end_of(at(stage + 1).backward_end, s.backwards) + costs_.hop;
  }
  /// Forwards before the first gradient.
  int fill(int stage) const {
    const int left = shape_.stages - stage;
    return choice_.deep_fill ? 2 * left - 1 : left;
  }
  bool has_room(int stage) const {
    const Stage& s = at(stage);
    if (s.backwards == 0 && s.forwards >= fill(stage)) { return false; }
    const double held = (s.forwards - s.backwards) +
                        costs_.weight_share * static_cast<double>(s.backwards - s.weights);
    return held + 1 <= limit_ + kSlack || s.forwards == s.weights;
  }

  bool start_some(double now) {
    bool started = false;
    for (int stage = 0; stage < shape_.stages; ++stage) {
      if (at(stage).free <= now) { started = start_at(stage, now) || started; }
    }
    return started;
  }

  bool start_at(int stage, double now) {
    Stage& s = at(stage);
    const PhaseTimes t = times(stage);
    const double backward = s.backwards < shape_.micro_batches ? backward_arrival(stage) : kNever;
    const double forward = forward_arrival(stage);
    const bool fill_first =
        choice_.keep_full && forward <= now && s.forwards - s.backwards < fill(stage);
    if (backward <= now && !fill_first) {
      start(s, Phase::input_grad, s.backwards++, now + t.backward - t.weight_grad);
      s.backward_end.push_back(s.free);
    } else if (forward <= now) {
      start(s, Phase::forward, s.forwards++, now + t.forward);
      s.forward_end.push_back(s.free);
    } else if (s.weights < s.backwards &&
               std::min(forward, backward) >= now + choice_.patience * t.weight_grad) {
      start(s, Phase::weight_grad, s.weights++, now + t.weight_grad);
    } else {
      return false;
    }
    return true;
  }

  static void start(Stage& s, Phase phase, int micro_batch, double end) {
    s.order.push_back({phase, micro_batch});
    s.free = end;
  }

  /// The next time after `now` at which a stage is free or something arrives.
  double next_event(double now) const {
    double next = kNever;
    const auto consider = [&](double time) {
      if (time > now) { next = std::min(next, time); }
    };
    for (int stage = 0; stage < shape_.stages; ++stage) {
      consider(at(stage).free);
      if (at(stage).free > now) { continue; }
      consider(forward_arrival(stage));
      if (at(stage).backwards < shape_.micro_batches) { consider(backward_arrival(stage)); }
    }
    return next;
  }

  PipelineShape shape_;
  const OrderCosts& costs_;
  Choice choice_;
  double limit_ = 0;
  std::vector<Stage> stages_;
};

}  // namespace

PipelineOrder zb_auto(const PipelineShape& shape, const OrderCosts& costs) {
  PipelineOrder best;
  std::pair<double, double> least{kNever, kNever};
  for (const Choice& choice : choices()) {
    ListScheduler scheduler(shape, costs, choice);
    scheduler.run();
    const std::pair<double, double> found{scheduler.makespan(), scheduler.sum_of_ends()};
    if (found >= least) { continue; }
    least = found;
    best = std::move(scheduler).order();
  }
  return best;
}

}  // namespace tsim::strategies
