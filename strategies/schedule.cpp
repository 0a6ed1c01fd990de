#include "strategies/schedule.hpp"

#include <utility>

#include "strategies/schedules/slots.hpp"

namespace tsim::strategies {

PipelineShape shape_of(const Strategy& strategy, int micro_batches) {
  PipelineShape shape{.stages = strategy.pipeline,
                      .micro_batches = micro_batches,
                      .chunks = strategy.chunks,
                      .group = strategy.micro_batch_group};
  const Schedule* const named = schedule_named(strategy.schedule);
  shape.placement = named != nullptr ? named->placement : strategy.own_placement;
  return shape;
}

PipelineOrder order_of(const Strategy& strategy, int micro_batches, const OrderCosts& costs) {
  const Schedule* const named = schedule_named(strategy.schedule);
  return named != nullptr ? named->order(shape_of(strategy, micro_batches), costs)
                          : strategy.own_order;
}

PipelineOrder forward_orders(const PipelineShape& shape) {
  const int p = shape.stages;
  if (shape.placement == Placement::loop) {
    PipelineOrder orders;
    orders.assign(static_cast<std::size_t>(p), forward_only(shape));
    return orders;
  }
  const bool copies = shape.placement == Placement::bidirectional;
  const int parts = part_count(shape);
  SlotTable table(p);
  for (int m = 0; m < shape.micro_batches; ++m) {
    const int start = copies ? m / 2 * 2 : parts * (m / p) + 2 * (m % p);
    for (int stage = 0; stage < p; ++stage) {
      for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        if (copies && chunk != m % 2) { continue; }
        const Seat seat{stage, chunk};
        table.put(stage, start + part_of(shape, seat), {Phase::forward, m, chunk});
      }
    }
  }
  return std::move(table).order();
}

int weight_versions(const Strategy& strategy, int stage) {
  const Schedule* const named = schedule_named(strategy.schedule);
  const bool many = named != nullptr && named->weight_versions != nullptr;
  return many ? named->weight_versions(strategy.pipeline, stage) : 1;
}

bool steps_each(const Strategy& strategy) {
  const Schedule* const named = schedule_named(strategy.schedule);
  return named != nullptr && named->steps_each;
}

int replicas(const Strategy& strategy) {
  const bool twice = shape_of(strategy, 1).placement == Placement::bidirectional;
  return (twice ? 2 : 1) * replica_count(strategy);
}

int expert_holders(const Strategy& strategy) {
  return replicas(strategy) / replica_count(strategy) * expert_replicas(strategy);
}

int mirror_stage(const PipelineShape& shape, int stage) {
  return shape.placement == Placement::bidirectional ? shape.stages - 1 - stage : stage;
}

std::vector<int> holder_stages(const PipelineShape& shape, int stage) {
  const int mirror = mirror_stage(shape, stage);
  return mirror == stage ? std::vector<int>{stage} : std::vector<int>{stage, mirror};
}

double bubble_fraction(const PipelineShape& shape) {
  const double ramp = (shape.stages - 1) / static_cast<double>(shape.chunks);
  return ramp / (shape.micro_batches + ramp);
}

double bubble_ratio(const PipelineShape& shape) {
  return (shape.stages - 1) / (static_cast<double>(shape.micro_batches) * shape.chunks);
}

}  // namespace tsim::strategies
