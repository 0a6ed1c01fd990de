// Two phases of different micro-batches at once: while the one's tokens are on their way to
// experts, the other computes.
#include <algorithm>
#include <array>
#include <utility>

#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

/// One of the two phases, as far as it has been stamped.
struct Side {
  const ResolvedProgram* resolved = nullptr;
  const Action* action = nullptr;
  std::vector<StepTasks> stamped{};  // by step
  double done = 0, all = 0;          // seconds of computation

  const std::vector<Step>& steps() const { return resolved->program->steps; }
  bool ended() const { return stamped.size() == steps().size(); }
  /// The part of its computation that has been stamped.
  double progress() const { return all > 0 ? done / all : 0.0; }
  std::vector<StepTasks> picked(const std::vector<int>& indices) const {
    std::vector<StepTasks> list;
    list.reserve(indices.size());
    for (const int i : indices) { list.push_back(stamped[static_cast<std::size_t>(i)]); }
    return list;
  }
  StepTasks entry() const {
    const auto first = std::find_if(steps().begin(), steps().end(), reads_input);
    return stamped[static_cast<std::size_t>(first - steps().begin())];
  }
};

/// The one whose turn it is: the less advanced, so that both end together.
Side& next_of(std::array<Side, 2>& sides) {
  auto& [first, second] = sides;
  if (first.ended()) { return second; }
  if (second.ended() || first.progress() <= second.progress()) { return first; }
  return second;
}

}  // namespace

/// Computations of both take turns on the device in an order that is the same on all ranks of a
/// stage; communications wait for their own phase only. Both messages in start the first phase,
/// which the second one's computation follows; messages out leave when both have ended.
///   [arXiv:2412.19437, sec. 3.2.1]
std::vector<Stamped> TaskBuilder::stamp_woven(std::span<const Action> pair, int stage,
                                              int replica) {
  const int row = stage * replicas_ + replica;
  std::array<Side, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    const Action& action = pair[i];
    const Which which = which_phase(action);
    sides[i].resolved =
        &program_at({stage, action.chunk}, replica, action.micro_batch % slices(), which);
    sides[i].action = &action;
    for (const Step& step : sides[i].steps()) { sides[i].all += step.duration.value; }
  }
  auto& previous = last_exits_[static_cast<std::size_t>(row)];
  std::vector<StepTasks> computed;  // the device's last task
  while (!sides[0].ended() || !sides[1].ended()) {
    Side& side = next_of(sides);
    const Step& step = side.steps()[side.stamped.size()];
    const StepTasks tasks = add_step(*side.resolved, side.stamped.size(), row, *side.action);
    chain(step.after.empty() ? previous : side.picked(step.after), tasks);
    if (!step.is_comm) {
      chain(computed, tasks);
      computed = {tasks};
      side.done += step.duration.value;
    } else if (step.after.empty() && reads_input(step)) {
      chain(computed, tasks);  // it starts with the pair
    }
    side.stamped.push_back(tasks);
  }
  Stamped both{sides[0].entry(), {}};
  for (Side& side : sides) {
    const std::vector<StepTasks> exits = side.picked(side.resolved->program->exits);
    both.exits.insert(both.exits.end(), exits.begin(), exits.end());
    stamped_ = std::move(side.stamped);
    note_buckets(*side.resolved->program, {stage, side.action->chunk});
  }
  previous = both.exits;
  return {std::move(both)};
}

}  // namespace tsim::strategies
