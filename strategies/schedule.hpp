// Pipeline schedules: the order in which each stage runs the phases of its micro-batches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/pipeline_order.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// Seconds of the phases of one micro-batch on a whole stage, or on one chunk of it.
struct PhaseTimes {
  double forward = 1;
  double backward = 2;     // inputs and weights together
  double weight_grad = 1;  // of that, what can be put off
};

/// What a schedule that is computed from costs reads besides the shape.
struct OrderCosts {
  std::vector<PhaseTimes> seats;  // by seat_index; empty: all alike
  double hop = 0;                 // seconds of a message between stages
  double most_in_flight = 0;      // activations of so many micro-batches fit; 0: p of them
  double weight_share = 1;        // of a micro-batch's activations, what waits for its weight_grad
};

/// A rule that a pipeline's shape breaks.
struct Demand {
  enum class Of : std::uint8_t { pipeline, micro_batches, chunks, group };
  Of of{};
  std::string expected;  // "an even number with schedule \"chimera\""
  std::string hint;
};

/// A schedule: what it is called, what it demands, and the order that it gives every stage.
struct Schedule {
  std::string_view name;
  std::string_view summary;
  Placement placement = Placement::loop;
  int chunks = 1;        // of every stage; 0: any number
  int usual_chunks = 1;  // of any number, the one to take when none is given
  bool splits_backward = false;
  PipelineOrder (*order)(const PipelineShape&, const OrderCosts&) = nullptr;
  /// Seconds that a stage idles in an iteration, all stages equal and messages free; null when no
  /// closed form is known.
  double (*idle)(const PipelineShape&, const PhaseTimes&) = nullptr;
  /// What the shape breaks, if anything.
  std::optional<Demand> (*demand)(const PipelineShape&) = nullptr;
  /// Copies of the parameters that stage s holds at once; null: one.
  int (*weight_versions)(int stages, int stage) = nullptr;
  bool steps_each = false;  // the optimizer steps after every micro-batch's backward
};

/// All schedules, in the order of the documentation.
std::span<const Schedule> schedules();
/// nullptr for an unknown name.
const Schedule* schedule_named(std::string_view name);
std::vector<std::string_view> schedule_names();

/// The shape of `strategy`'s pipeline, placed as its schedule wants it.
PipelineShape shape_of(const Strategy& strategy, int micro_batches);
/// What every stage runs: the named schedule's order, or the strategy's own.
PipelineOrder order_of(const Strategy& strategy, int micro_batches, const OrderCosts& costs);
/// Forward-only streaming, whatever the schedule: through a wave two slots behind each other, in
/// two directions by turns.
PipelineOrder forward_orders(const PipelineShape& shape);
/// Copies of its parameters that a stage holds, and whether the optimizer steps after every
/// backward.
int weight_versions(const Strategy& strategy, int stage);
bool steps_each(const Strategy& strategy);
/// Ranks that hold a copy of the same parameters: d c, or 2 d c when bidirectional.
int replicas(const Strategy& strategy);
/// Ranks that hold copies of the same part of the same experts, the same way.
int expert_holders(const Strategy& strategy);
/// The other stage that holds the parts of `stage`; itself when every part has one holder.
int mirror_stage(const PipelineShape& shape, int stage);
/// Both, or the one: all stages that hold the parts of `stage`, that one first.
std::vector<int> holder_stages(const PipelineShape& shape, int stage);

/// (p-1)/(m+p-1): idle / step time, equal stages, no communication.  [arXiv:2104.04473, sec. 2.2]
double bubble_fraction(const PipelineShape& shape);
/// (p-1)/(m v): idle / ideal time.
double bubble_ratio(const PipelineShape& shape);

}  // namespace tsim::strategies
