// Interleaved 1F1B: v chunks a stage; groups of p micro-batches pass chunk 0, then chunk 1, ...
// With groups of another size this is Megatron-core's
// microbatch_group_size_per_virtual_pipeline_stage.
//   [arXiv:2104.04473, sec. 2.2; github.com/NVIDIA/Megatron-LM,
//   core/pipeline_parallel/schedules.py]
#include <algorithm>
#include <string>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

int group_of(const PipelineShape& shape) { return shape.group > 0 ? shape.group : shape.stages; }

/// Forwards of a stage in order: each group through chunk 0, chunk 1, ...
StageOrder forwards(const PipelineShape& shape) {
  const int group = group_of(shape);
  StageOrder order;
  for (int first = 0; first < shape.micro_batches; first += group) {
    const int end = std::min(first + group, shape.micro_batches);
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int m = first; m < end; ++m) { order.push_back({Phase::forward, m, chunk}); }
    }
  }
  return order;
}

std::string text(int n) { return std::to_string(n); }

/// A group that lets m micro-batches pass where the classic rule does not: m cut in m/p rounds.
std::string group_hint(const PipelineShape& shape) {
  const int rounds = std::max(1, shape.micro_batches / shape.stages);
  if (shape.micro_batches % rounds != 0) { return {}; }
  return "micro_batch_group = " + text(shape.micro_batches / rounds);
}

}  // namespace

StageOrder interleaved(const PipelineShape& shape, int stage) {
  const StageOrder once = forwards(shape);
  const auto total = static_cast<int>(once.size());
  const int group = group_of(shape);
  const bool all_at_once = shape.micro_batches == shape.stages && group == shape.stages;
  const int ramp = 2 * (shape.stages - stage - 1) + (shape.chunks - 1) * group;
  const int warm_up = all_at_once ? total : std::min(ramp, total);
  StageOrder order;
  for (int k = 0; k < total + warm_up; ++k) {
    if (k < total) { order.push_back(once[static_cast<std::size_t>(k)]); }
    if (k < warm_up) { continue; }
    const Action& forward = once[static_cast<std::size_t>(k - warm_up)];
    order.push_back({Phase::backward, forward.micro_batch, shape.chunks - 1 - forward.chunk});
  }
  return order;
}

double fill_and_drain(const PipelineShape& shape, const PhaseTimes& t) {
  const double chunk = (t.forward + t.backward) / shape.chunks;
  const int missing = std::max(0, shape.stages - shape.micro_batches);
  return (shape.stages - 1 + (shape.chunks - 1) * missing) * chunk;
}

std::optional<Demand> interleaved_demand(const PipelineShape& shape) {
  const int p = shape.stages;
  const int m = shape.micro_batches;
  if (shape.group == 0) {
    if (m % p == 0) { return std::nullopt; }
    const int below = m / p * p;
    std::string nearest = below > 0 ? text(below) + " or " + text(below + p) : text(below + p);
    const std::string group = group_hint(shape);
    if (!group.empty()) { nearest += "; or keep them, with " + group; }
    return Demand{Demand::Of::micro_batches,
                  "a multiple of pipeline = " + text(p) + " with schedule \"interleaved\"",
                  "nearest valid: " + nearest};
  }
  if (shape.group < std::min(p, m)) {
    return Demand{
        Demand::Of::group, "at least " + text(std::min(p, m)) + " (pipeline, or all)", {}};
  }
  const int rest = m % shape.group;
  if (rest != 0 && m > shape.group && rest < p) {
    return Demand{Demand::Of::group,
                  "a group that leaves 0 or at least pipeline = " + text(p) + " of " + text(m) +
                      " micro-batches over (" + text(m) + " % " + text(shape.group) + " = " +
                      text(rest) + ")",
                  group_hint(shape)};
  }
  return std::nullopt;
}

}  // namespace tsim::strategies
