#include "strategies/check_order.hpp"

#include <algorithm>
#include <array>

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::string at_stage(int stage) { return " of stage " + std::to_string(stage); }

/// Forward, gradient of inputs, gradient of weights: what an action contributes.
enum class Part : std::uint8_t { forward, input, weight };

/// Position of each part of a micro-batch on a seat in its stage's order, or -1.
class Positions {
 public:
  explicit Positions(const PipelineShape& shape)
      : shape_(shape),
        at_(index(shape.stages * shape.chunks) * index(shape.micro_batches), {-1, -1, -1}) {}

  int& at(Seat seat, int micro_batch, Part part) {
    return at_[index(seat_index(shape_, seat)) * index(shape_.micro_batches) + index(micro_batch)]
              [static_cast<std::size_t>(part)];
  }

 private:
  const PipelineShape& shape_;
  std::vector<std::array<int, 3>> at_;
};

Part part_of(Phase phase) {
  if (phase == Phase::forward) { return Part::forward; }
  return phase == Phase::weight_grad ? Part::weight : Part::input;
}

class Completeness {
 public:
  Completeness(const PipelineShape& shape, const PipelineOrder& order)
      : shape_(shape), order_(order), positions_(shape) {}

  std::optional<std::string> find() {
    for (int stage = 0; stage < shape_.stages; ++stage) {
      if (auto fault = note(stage)) { return fault; }
    }
    for (int m = 0; m < shape_.micro_batches; ++m) {
      if (auto fault = missing(m)) { return fault; }
    }
    return std::nullopt;
  }

 private:
  /// Notes where everything is; tells what is twice or too early.
  std::optional<std::string> note(int stage) {
    const StageOrder& order = order_[index(stage)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Action& a = order[i];
      const Seat seat{stage, a.chunk};
      const Part part = part_of(a.phase);
      int& at = positions_.at(seat, a.micro_batch, part);
      if (at >= 0) { return to_text(shape_, a) + at_stage(stage) + " is there twice"; }
      at = static_cast<int>(i);
      if (part == Part::forward) { continue; }
      const Part needs = part == Part::input ? Part::forward : Part::input;
      if (positions_.at(seat, a.micro_batch, needs) < 0) {
        return to_text(shape_, a) + at_stage(stage) + " comes before its " +
               (part == Part::input ? "F" : "B");
      }
      if (a.phase == Phase::backward) {
        positions_.at(seat, a.micro_batch, Part::weight) = static_cast<int>(i);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> missing(int m) {
    for (int stage = 0; stage < shape_.stages; ++stage) {
      for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
        if (auto fault = missing_at({stage, chunk}, m)) { return fault; }
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> missing_at(Seat seat, int m) {
    if (!passes(m, seat.chunk)) {
      if (positions_.at(seat, m, Part::forward) < 0) { return std::nullopt; }
      return "micro-batch " + std::to_string(m) + " takes both directions";
    }
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::weight_grad}) {
      if (positions_.at(seat, m, part_of(phase)) >= 0) { continue; }
      return to_text(shape_, {phase, m, seat.chunk}) + at_stage(seat.stage) + " is missing";
    }
    return std::nullopt;
  }

  /// When bidirectional, the direction is the one that stage 0 takes.
  bool passes(int m, int chunk) {
    if (shape_.placement != Placement::bidirectional) { return true; }
    const bool reverse =
        positions_.at({0, 1}, m, Part::forward) >= 0 && positions_.at({0, 0}, m, Part::forward) < 0;
    return chunk == (reverse ? 1 : 0);
  }

  const PipelineShape& shape_;
  const PipelineOrder& order_;
  Positions positions_;
};

/// What an action of one stage cannot do without.
struct Need {
  int stage = 0;
  Action action;
};

/// Runs an order without a clock: every stage as far as it gets.
class Progress {
 public:
  Progress(const PipelineShape& shape, const PipelineOrder& order, bool blocking)
      : shape_(shape),
        order_(order),
        blocking_(blocking),
        next_(index(shape.stages), 0),
        positions_(shape) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      for (std::size_t i = 0; i < order[index(stage)].size(); ++i) {
        const Action& a = order[index(stage)][i];
        positions_.at({stage, a.chunk}, a.micro_batch, part_of(a.phase)) = static_cast<int>(i);
      }
    }
  }

  std::optional<std::string> find() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int stage = 0; stage < shape_.stages; ++stage) {
        while (!ended(stage) && !obstacle(stage)) {
          next_[index(stage)] = group_end(stage);
          moved = true;
        }
      }
    }
    for (int stage = 0; stage < shape_.stages; ++stage) {
      if (!ended(stage)) { return cycle_from(stage); }
    }
    return std::nullopt;
  }

 private:
  bool ended(int stage) const { return next_[index(stage)] == order_[index(stage)].size(); }
  const Action& current(int stage) const { return order_[index(stage)][next_[index(stage)]]; }
  /// The end of the action or pair that is next.
  std::size_t group_end(int stage) const {
    const StageOrder& order = order_[index(stage)];
    const std::size_t at = next_[index(stage)];
    return std::min(order.size(), at + (order[at].paired ? 2 : 1));
  }
  bool done(const Need& need) {
    return positions_.at({need.stage, need.action.chunk}, need.action.micro_batch,
                         part_of(need.action.phase)) < static_cast<int>(next_[index(need.stage)]);
  }

  /// Where the input of an action comes from.
  std::optional<Need> input_of(int stage, const Action& a) const {
    if (a.phase == Phase::weight_grad) { return std::nullopt; }
    const bool forward = a.phase == Phase::forward;
    const auto from = neighbour(shape_, {stage, a.chunk}, forward ? -1 : 1);
    if (!from) { return std::nullopt; }
    return Need{from->stage,
                {forward ? Phase::forward : Phase::backward, a.micro_batch, from->chunk}};
  }

  /// The receiver of an action's output, if it is another stage that has not come to it yet.
  std::optional<Need> late_receiver(int stage, const Action& a) {
    if (a.phase == Phase::weight_grad) { return std::nullopt; }
    const bool forward = a.phase == Phase::forward;
    const auto to = neighbour(shape_, {stage, a.chunk}, forward ? 1 : -1);
    if (!to || to->stage == stage) { return std::nullopt; }
    const Action there{forward ? Phase::forward : Phase::backward, a.micro_batch, to->chunk};
    const int position = positions_.at(*to, there.micro_batch, part_of(there.phase));
    if (position <= static_cast<int>(group_reach(to->stage))) { return std::nullopt; }
    return Need{to->stage, order_[index(to->stage)][index(position) - 1]};
  }

  /// Of the phases that the stage ran last, one whose message its receiver has not come to yet.
  std::optional<Need> unreceived(int stage) {
    const std::size_t at = next_[index(stage)];
    if (!blocking_ || at == 0) { return std::nullopt; }
    const StageOrder& order = order_[index(stage)];
    const std::size_t first = at >= 2 && order[at - 2].paired ? at - 2 : at - 1;
    for (std::size_t i = first; i < at; ++i) {
      if (const auto need = late_receiver(stage, order[i])) { return need; }
    }
    return std::nullopt;
  }
  /// The last action that a stage is about to run.
  std::size_t group_reach(int stage) const {
    return ended(stage) ? order_[index(stage)].size() : group_end(stage) - 1;
  }

  /// What the stage's next action or pair waits for.
  std::optional<Need> obstacle(int stage) {
    for (std::size_t i = next_[index(stage)]; i < group_end(stage); ++i) {
      const auto need = input_of(stage, order_[index(stage)][i]);
      if (need && !done(*need)) { return need; }
    }
    return unreceived(stage);
  }

  /// Follows what each stage waits for until one comes again.
  std::string cycle_from(int stage) {
    std::vector<int> path;
    while (std::find(path.begin(), path.end(), stage) == path.end()) {
      path.push_back(stage);
      stage = obstacle(stage)->stage;
    }
    std::string text;
    for (auto at = std::find(path.begin(), path.end(), stage); at != path.end(); ++at) {
      const auto need = obstacle(*at);
      text += (text.empty() ? "" : ", ") + to_text(shape_, current(*at)) + at_stage(*at) +
              " waits for " + to_text(shape_, need->action) + at_stage(need->stage);
    }
    return text;
  }

  const PipelineShape& shape_;
  const PipelineOrder& order_;
  bool blocking_;
  std::vector<std::size_t> next_;  // by stage
  Positions positions_;
};

}  // namespace

std::string to_text(const PipelineShape& shape, const Action& action) {
  const char letter = "FBW"[static_cast<std::size_t>(part_of(action.phase))];
  const std::string text = letter + std::to_string(action.micro_batch);
  return shape.chunks > 1 ? text + "." + std::to_string(action.chunk) : text;
}

std::optional<std::string> find_incomplete(const PipelineShape& shape, const PipelineOrder& order) {
  return Completeness(shape, order).find();
}

std::optional<std::string> find_deadlock(const PipelineShape& shape, const PipelineOrder& order,
                                         bool blocking) {
  return Progress(shape, order, blocking).find();
}

}  // namespace tsim::strategies
