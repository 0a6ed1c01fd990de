#include "strategies/closed_form.hpp"

#include <algorithm>
#include <array>

#include "cost/collectives.hpp"
#include "strategies/layout.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

class Estimator {
 public:
  explicit Estimator(const BuildInput& input) : in_(input), layout_(input.strategy) {}

  ClosedForm run() {
    const Strategy& s = in_.strategy;
    const int m = in_.micro_batches;
    Seconds sum;
    Seconds slowest;
    ClosedForm result;
    for (int stage = 0; stage < s.pipeline; ++stage) {
      const Seconds one = stage_time(stage);
      sum += one;
      slowest = std::max(slowest, one);
    }
    const double ramp = 1.0 / s.chunks;
    const bool one_at_a_time = in_.training && s.schedule == "naive";
    result.pipeline = one_at_a_time ? static_cast<double>(m) * sum
                                    : ramp * (sum - slowest) + static_cast<double>(m) * slowest;
    result.transfers = (one_at_a_time ? static_cast<double>(m) : 1.0) * transfer_time();
    if (in_.training) {
      for (int stage = 0; stage < s.pipeline; ++stage) {
        result.gradients = std::max(result.gradients, exposed_gradients(stage));
        result.optimizer = std::max(result.optimizer, optimizer_time(stage));
      }
    }
    result.step = result.pipeline + result.transfers + result.gradients + result.optimizer;
    return result;
  }

 private:
  Seconds collective(CollectiveOp op, const std::vector<int>& devices, Bytes size) {
    const auto plan = plan_collective(op, in_.strategy.collective, devices, size, in_.router);
    return time_alone(plan, in_.topology, in_.router);
  }

  Seconds program_time(const Program& program, int stage) {
    std::vector<Seconds> end(program.steps.size());
    Seconds total;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      Seconds start;
      for (const int before : step.after) {
        start = std::max(start, end[static_cast<std::size_t>(before)]);
      }
      end[i] = start + (step.is_comm ? tensor_comm(step, stage) : step.duration);
      total = std::max(total, end[i]);
    }
    return total;
  }

  Seconds tensor_comm(const Step& step, int stage) {
    constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::reduce_scatter,
                              CollectiveOp::all_gather};
    return collective(kOps[static_cast<std::size_t>(step.comm)], layout_.tensor_group(0, stage),
                      step.size);
  }

  Seconds stage_time(int stage) {
    Seconds sum;
    for (const ChunkPlan& chunk : in_.stages[static_cast<std::size_t>(stage)].chunks) {
      sum += program_time(chunk.forward, stage);
      if (in_.training) { sum += program_time(chunk.backward, stage); }
    }
    return sum;
  }

  Seconds transfer_time() {
    // Under sequence parallelism a rank's output is its part already.
    const int cut =
        in_.strategy.scatter_gather && !in_.strategy.sequence_parallel ? in_.strategy.tensor : 1;
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

  /// Buckets queue behind each other and behind the compute that fills them.
  Seconds exposed_gradients(int stage) {
    const Strategy& s = in_.strategy;
    if (s.data == 1) { return {}; }
    const CollectiveOp op = s.zero >= 1 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
    const Bytes element{size_of(s.precision.reduction)};
    Seconds clock;
    Seconds free;
    for (const ChunkPlan& chunk : in_.stages[static_cast<std::size_t>(stage)].chunks) {
      for (const Step& step : chunk.last_backward.steps) {
        clock += step.is_comm ? tensor_comm(step, stage) : step.duration;
        if (step.bucket == 0) { continue; }
        free = std::max(free, clock) +
               collective(op, layout_.data_group(0, stage), step.bucket * element);
      }
    }
    return std::max(Seconds{}, free - clock);
  }

  Seconds optimizer_time(int stage) {
    const Strategy& s = in_.strategy;
    const StagePlan& plan = in_.stages[static_cast<std::size_t>(stage)];
    Seconds time = plan.optimizer;
    if (s.zero >= 1 && s.data > 1) {
      time += collective(CollectiveOp::all_gather, layout_.data_group(0, stage),
                         plan.elements * Bytes{size_of(s.precision.compute)});
    }
    return time;
  }

  const BuildInput& in_;
  Layout layout_;
};

}  // namespace

ClosedForm closed_form(const BuildInput& input) { return Estimator(input).run(); }

}  // namespace tsim::strategies
