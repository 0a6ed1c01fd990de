#include "sim/sweep/part_figures.hpp"

#include <algorithm>

#include "strategies/phase_memory.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using strategies::MemoryChange;
using strategies::Program;
using strategies::ProgramClock;
using strategies::Step;
using strategies::StepTimes;
using strategies::Which;

struct Change {
  double time = 0;
  std::int64_t bytes = 0;
};

void add(const strategies::MemoryEffect& effect, double start, double end,
         std::vector<Change>& changes) {
  for (const MemoryChange& c : effect) {
    if (c.at_start.value != 0) { changes.push_back({start, c.at_start.value}); }
    if (c.at_end.value != 0) { changes.push_back({end, c.at_end.value}); }
  }
}

/// Most that a phase holds beyond what was held before, and what it leaves.
struct PhasePeak {
  std::int64_t peak = 0, left = 0;
};

/// Changes of one instant are applied together.
PhasePeak peak_of(std::vector<Change> changes) {
  std::ranges::stable_sort(changes, {}, &Change::time);
  PhasePeak result;
  for (std::size_t i = 0; i < changes.size();) {
    const double time = changes[i].time;
    for (; i < changes.size() && changes[i].time == time; ++i) { result.left += changes[i].bytes; }
    result.peak = std::max(result.peak, result.left);
  }
  return result;
}

PhasePeak phase_peak(const strategies::ChunkPlan& chunk, Which which, bool training,
                     const StepTimes& times) {
  const Program& program = program_of(chunk, which);
  std::vector<Change> changes;
  double first = -1;
  double last = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    add(step.memory, times.start[i].value, times.end[i].value, changes);
    if (step.is_comm) { continue; }
    if (first < 0) { first = times.start[i].value; }
    last = times.end[i].value;
  }
  const strategies::PhaseMemory memory = phase_memory(chunk, which, training);
  add(memory.first, std::max(0.0, first), 0, changes);
  add(memory.last, 0, last, changes);
  return peak_of(std::move(changes));
}

/// Buckets that are only marked, and when each is full.
Buckets marked_buckets(const Program& last, ProgramClock& clock, int stage) {
  Buckets buckets;
  double host = 0;  // has launched so far
  for (const Step& step : last.steps) {
    buckets.head_time += (step.is_comm ? clock.comm_time(step, stage) : step.duration).value;
    host += clock.host_time(step).value;
    if (!step.is_comm) { buckets.head_time = std::max(buckets.head_time, host); }
    if (step.bucket > 0) { buckets.head.push_back({buckets.head_time, step.bucket}); }
  }
  return buckets;
}

}  // namespace

PartFigures figures_of(const strategies::ChunkPlan& chunk, const strategies::Strategy& strategy,
                       bool training, ProgramClock& clock, int stage) {
  PartFigures f;
  const StepTimes forward = clock.times_of(chunk.forward, stage);
  const PhasePeak forward_peak = phase_peak(chunk, Which::forward, training, forward);
  f[PartTime::forward] = forward.exits.value;
  f[PartSize::forward_peak] = forward_peak.peak;
  f[PartSize::kept] = std::max<std::int64_t>(0, forward_peak.left);
  f[PartSize::input] = chunk.input.value;
  f[PartSize::output] = chunk.output.value;
  if (!training) { return f; }
  const StepTimes backward = clock.times_of(chunk.backward, stage);
  f[PartTime::backward] = backward.exits.value;
  f[PartSize::backward_peak] = std::max(
      phase_peak(chunk, Which::backward, true, backward).peak,
      phase_peak(chunk, Which::last_backward, true, clock.times_of(chunk.last_backward, stage))
          .peak);
  const StepTimes input = clock.times_of(chunk.input_grad, stage);
  f[PartTime::input_grad] = input.exits.value;
  f[PartTime::weight_grad] = clock.times_of(chunk.weight_grad, stage).exits.value;
  f[PartSize::input_peak] = phase_peak(chunk, Which::input_grad, true, input).peak;
  f[PartSize::waiting] = chunk.weight_activations.value + chunk.weight_logits.value;
  if (sends_in_programs(strategy)) {
    const StepTimes last = clock.times_of(chunk.last_backward, stage);
    f[PartTime::last_exits] = last.exits.value;
    f[PartTime::last_all] = last.all.value;
    const StepTimes weights = clock.times_of(chunk.last_weight_grad, stage);
    f[PartTime::last_weight_exits] = weights.exits.value;
    f[PartTime::last_weight_all] = weights.all.value;
  } else if (replicas(strategy) > 1) {
    f.buckets = marked_buckets(chunk.last_backward, clock, stage);
    f.weight_buckets = marked_buckets(chunk.last_weight_grad, clock, stage);
  }
  return f;
}

double shared_time(const std::vector<strategies::SharedGradients>& shared,
                   const strategies::Strategy& strategy, int stage,
                   strategies::CollectiveTimes& times) {
  const strategies::Layout layout(strategy);
  double sum = 0;
  for (const strategies::SharedGradients& s : shared) {
    const strategies::RankGroup group{strategies::GroupAxis::tensor, s.ranks.size, s.ranks.stride};
    const Bytes size = s.elements * Bytes{size_of(strategy.precision.reduction)};
    sum += times
               .time(strategy, cost::CollectiveOp::all_reduce,
                     layout.ranks(group, 0, {0, 0, stage}), size)
               .value;
  }
  return sum;
}

}  // namespace tsim::sim
