// Hanayo: 2W chunks a stage in W waves through the stages. As a wave folds the two directions of
// Chimera into one model, its slots never meet either: micro-batch i of p enters at slot 2i, one
// slot a chunk, and comes back the same way.   [arXiv:2308.15762, sec. 3]
#include <algorithm>

#include "strategies/schedules/orders.hpp"
#include "strategies/schedules/slots.hpp"

namespace tsim::strategies {

PipelineOrder hanayo(const PipelineShape& shape) {
  const int p = shape.stages;
  const int parts = part_count(shape);
  SlotTable table(p);
  for (int m = 0; m < shape.micro_batches; ++m) {
    const int start = 2 * parts * (m / p) + 2 * (m % p);
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int stage = 0; stage < p; ++stage) {
        const int part = part_of(shape, {stage, chunk});
        table.put(stage, start + part, {Phase::forward, m, chunk});
        table.put(stage, start + 2 * parts - 1 - part, {Phase::backward, m, chunk});
      }
    }
  }
  return std::move(table).order();
}

/// (p-1)(F + (B-F) m/p)/W for W waves, B >= F and whole units of p micro-batches: the slots above,
/// stretched.   [arXiv:2308.15762, sec. 3.3]
double hanayo_idle(const PipelineShape& shape, const PhaseTimes& t) {
  const double units = shape.micro_batches / static_cast<double>(shape.stages);
  const double waves = shape.chunks / 2.0;
  return (shape.stages - 1) / waves * (t.forward + units * std::max(0.0, t.backward - t.forward));
}

std::optional<Demand> hanayo_demand(const PipelineShape& shape) {
  if (shape.chunks % 2 == 0) { return std::nullopt; }
  return Demand{Demand::Of::chunks, "an even number with schedule \"hanayo\": two for each wave",
                "chunks = " + std::to_string(shape.chunks + 1)};
}

}  // namespace tsim::strategies
