#include "strategies/closed_form.hpp"

#include <algorithm>

#include "cost/collectives.hpp"
#include "strategies/gradient_norm.hpp"
#include "strategies/layout.hpp"
#include "strategies/program_clock.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

/// Of a forward pass alone: (p-1) F/v; along waves, which are entered every other slot of F/v,
/// twice that; (p-2) F in two directions.
double fill_of_forwards(const PipelineShape& shape, const PhaseTimes& t) {
  const double ramp = (shape.stages - 1) * t.forward / shape.chunks;
  switch (shape.placement) {
    case Placement::loop: return ramp;
    case Placement::wave: return 2 * ramp;
    case Placement::bidirectional: return std::max(0, shape.stages - 2) * t.forward;
  }
  return ramp;
}

class Estimator {
 public:
  explicit Estimator(const BuildInput& input)
      : in_(input),
        layout_(input.strategy),
        times_(input.router),
        clock_(input.strategy, times_, input.costs.host_collective),
        schedule_(schedule_named(input.strategy.schedule)) {}

  ClosedForm run() {
    const Strategy& s = in_.strategy;
    const int m = in_.micro_batches;
    ClosedForm result;
    if (uses_host(s) ||
        s.offload.activations != ActivationsAt::device) {  // what copies hide is for events to tell
      result.known = false;
      return result;
    }
    const auto idle =
        in_.training ? (schedule_ == nullptr ? nullptr : schedule_->idle) : &fill_of_forwards;
    const bool each = in_.training && steps_each(s);
    result.known = idle != nullptr && !(each && replicas(s) > 1);
    const Phases phases = stage_phases();
    result.pipeline = static_cast<double>(m) * phases.slowest;
    if (result.known) { result.pipeline += Seconds{idle(shape_of(s, m), phases.others)}; }
    const bool one_at_a_time = in_.training && s.schedule == "naive";
    result.transfers = (one_at_a_time ? static_cast<double>(m) : 1.0) * transfer_time();
    if (in_.training) { add_training(each, result); }
    result.step = result.pipeline + result.transfers + result.gradients + result.optimizer;
    return result;
  }

 private:
  Seconds collective(CollectiveOp op, const std::vector<int>& devices, Bytes size) {
    return times_.time(in_.strategy, op, devices, size);
  }

  Seconds program_time(const Program& program, int stage) {
    return clock_.times_of(program, stage).exits;
  }

  /// Phases of one micro-batch through a stage: all its chunks, or one of two copies.
  PhaseTimes phases_of(int stage) {
    const bool split = schedule_ != nullptr && schedule_->splits_backward;
    PhaseTimes sum{0, 0, 0};
    const auto& chunks = in_.stages[static_cast<std::size_t>(stage)].chunks;
    for (const ChunkPlan& chunk : chunks) {
      sum.forward += program_time(chunk.forward, stage).value;
      if (!in_.training) { continue; }
      const double weights = split ? program_time(chunk.weight_grad, stage).value : 0;
      sum.weight_grad += weights;
      sum.backward += split ? program_time(chunk.input_grad, stage).value + weights
                            : program_time(chunk.backward, stage).value;
    }
    const bool copies = shape_of(in_.strategy, 1).placement == Placement::bidirectional;
    const double share = copies ? 1.0 / static_cast<double>(chunks.size()) : 1.0;
    return {share * sum.forward, share * sum.backward, share * sum.weight_grad};
  }

  struct Phases {
    Seconds slowest;    // of one micro-batch on the slowest stage
    PhaseTimes others;  // mean over the other stages, or the one
  };
  Phases stage_phases() {
    Phases result;
    const bool each = in_.training && steps_each(in_.strategy);
    PhaseTimes sum{0, 0, 0};
    PhaseTimes slowest{0, 0, 0};
    for (int stage = 0; stage < in_.strategy.pipeline; ++stage) {
      const PhaseTimes t = phases_of(stage);
      sum = {sum.forward + t.forward, sum.backward + t.backward, sum.weight_grad + t.weight_grad};
      const Seconds one =
          Seconds{t.forward + t.backward} + (each ? optimizer_time(stage) : Seconds{});
      if (one <= result.slowest) { continue; }
      result.slowest = one;
      slowest = t;
    }
    const double n = std::max(1, in_.strategy.pipeline - 1);
    if (in_.strategy.pipeline == 1) { slowest = {0, 0, 0}; }
    result.others = {(sum.forward - slowest.forward) / n, (sum.backward - slowest.backward) / n,
                     (sum.weight_grad - slowest.weight_grad) / n};
    return result;
  }

  Seconds transfer_time() {
    const int cut = cuts_messages(in_.strategy) ? in_.strategy.tensor : 1;
    Seconds sum;
    for (int stage = 0; stage + 1 < in_.strategy.pipeline; ++stage) {
      const Bytes size = in_.stages[static_cast<std::size_t>(stage)].chunks.front().output;
      const Bytes part{(size.value + cut - 1) / cut};
      const int here = layout_.rank({0, 0, stage});
      const int next = layout_.rank({0, 0, stage + 1});
      sum += collective(CollectiveOp::send_recv, {here, next}, part);
      if (in_.training) { sum += collective(CollectiveOp::send_recv, {next, here}, part); }
    }
    return sum;
  }

  /// What follows the pipeline; `each`: its stages step after every micro-batch.
  void add_training(bool each, ClosedForm& result) {
    const Strategy& s = in_.strategy;
    for (int stage = 0; stage < s.pipeline; ++stage) {
      const Seconds shared = each ? Seconds{} : shared_gradients(stage);
      result.gradients = std::max(result.gradients, exposed_gradients(stage) + shared);
      if (!each) { result.optimizer = std::max(result.optimizer, optimizer_time(stage)); }
    }
    if (waits_for_norm(s)) {
      result.optimizer +=
          collective(CollectiveOp::all_reduce, norm_ranks(layout_, s, 0), kNormSize);
    }
  }

  /// When the phases so far have ended, and when all that they sent has arrived.
  struct Clock {
    Seconds now, free;
  };

  /// Buckets that are marked are sent over all holders.
  void send_marked(const Program& last, int stage, Clock& clock) {
    const Strategy& s = in_.strategy;
    const CollectiveOp op =
        s.zero.stage >= 1 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
    const Bytes element{size_of(s.precision.reduction)};
    Seconds host = clock.now;
    for (const Step& step : last.steps) {
      clock.now += step.is_comm ? clock_.comm_time(step, stage) : step.duration;
      host += clock_.host_time(step);
      if (!step.is_comm) { clock.now = std::max(clock.now, host); }
      if (step.bucket == 0) { continue; }
      clock.free =
          std::max(clock.free, clock.now) + collective(op, holders(stage), step.bucket * element);
    }
  }

  /// Buckets queue behind each other and behind the compute that fills them.
  Seconds exposed_gradients(int stage) {
    const Strategy& s = in_.strategy;
    if (replicas(s) == 1) { return {}; }
    Clock clock;
    const bool split = schedule_ != nullptr && schedule_->splits_backward;
    for (const ChunkPlan& chunk : in_.stages[static_cast<std::size_t>(stage)].chunks) {
      const Program& last = split ? chunk.last_weight_grad : chunk.last_backward;
      if (sends_in_programs(s)) {
        const StepTimes ends = clock_.times_of(last, stage);
        clock.free = std::max(clock.free, clock.now + ends.all);
        clock.now += ends.exits;
      } else {
        send_marked(last, stage, clock);
      }
    }
    return std::max(Seconds{}, clock.free - clock.now);
  }

  /// Gradients that parts of the tensor group add up, after all others.
  Seconds shared_gradients(int stage) {
    Seconds sum;
    for (const SharedGradients& s : in_.stages[static_cast<std::size_t>(stage)].shared) {
      const RankGroup group{GroupAxis::tensor, s.ranks.size, s.ranks.stride};
      sum += collective(CollectiveOp::all_reduce, layout_.ranks(group, 0, {0, 0, stage}),
                        s.elements * Bytes{size_of(in_.strategy.precision.reduction)});
    }
    return sum;
  }

  /// Devices of all that hold the stage's parameters.
  std::vector<int> holders(int stage) const {
    std::vector<int> devices;
    for (const int holder : holder_stages(shape_of(in_.strategy, 1), stage)) {
      const std::vector<int> group = layout_.replica_group(0, holder);
      devices.insert(devices.end(), group.begin(), group.end());
    }
    return devices;
  }

  Seconds optimizer_time(int stage) {
    const Strategy& s = in_.strategy;
    const StagePlan& plan = in_.stages[static_cast<std::size_t>(stage)];
    Seconds time = plan.optimizer;
    if (s.zero.stage >= 1 && s.zero.stage < 3 && !s.overlap_parameters && replicas(s) > 1) {
      time += collective(CollectiveOp::all_gather, holders(stage),
                         plan.elements * Bytes{size_of(kept_weights(s.precision))});
    }
    return time;
  }

  const BuildInput& in_;
  Layout layout_;
  CollectiveTimes times_;
  ProgramClock clock_;
  const Schedule* schedule_;
};

}  // namespace

ClosedForm closed_form(const BuildInput& input) { return Estimator(input).run(); }

}  // namespace tsim::strategies
