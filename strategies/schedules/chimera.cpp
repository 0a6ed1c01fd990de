// Chimera: two copies of the model in opposite directions, half of the micro-batches each. In slots
// of F = B micro-batch i of p/2 enters at slot 2i from its side and turns at the far end; the two
// directions use slots of different parity and never meet. Units of p micro-batches follow each
// other.   [arXiv:2107.06925, sec. 3.1 and 3.5]
#include <algorithm>

#include "strategies/schedules/orders.hpp"
#include "strategies/schedules/slots.hpp"

namespace tsim::strategies {

PipelineOrder chimera(const PipelineShape& shape) {
  const int p = shape.stages;
  SlotTable table(p);
  for (int m = 0; m < shape.micro_batches; ++m) {
    const int direction = m % 2;
    const int unit = m / p;
    const int start = 2 * p * unit + 2 * (m % p / 2);
    for (int stage = 0; stage < p; ++stage) {
      const int step = direction == 0 ? stage : p - 1 - stage;
      table.put(stage, start + step, {Phase::forward, m, direction});
      table.put(stage, start + 2 * p - 1 - step, {Phase::backward, m, direction});
    }
  }
  return std::move(table).order();
}

/// (p-2)(F + (B-F) m/p) for B >= F and whole units of p micro-batches: with F = B the paper's
/// (p-2)/(2m+p-2) of the step, with B = 2F and m = p its (p-2)/(3m/2+p-2).
///   [arXiv:2107.06925, table 2 and sec. 3.5]
double chimera_idle(const PipelineShape& shape, const PhaseTimes& t) {
  const double units = shape.micro_batches / static_cast<double>(shape.stages);
  return (shape.stages - 2) * (t.forward + units * std::max(0.0, t.backward - t.forward));
}

std::optional<Demand> chimera_demand(const PipelineShape& shape) {
  if (shape.stages % 2 == 0) { return std::nullopt; }
  return Demand{Demand::Of::pipeline, "an even number: stages hold two parts, mirrored", {}};
}

}  // namespace tsim::strategies
