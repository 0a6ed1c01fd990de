// The order functions of the schedule registry, one file each, with their closed forms.
#pragma once

#include "strategies/schedule.hpp"

namespace tsim::strategies {

/// The same function for every stage.
template <StageOrder (*OfStage)(const PipelineShape&, int)>
PipelineOrder each_stage(const PipelineShape& shape, const OrderCosts& /*costs*/) {
  PipelineOrder order;
  for (int stage = 0; stage < shape.stages; ++stage) { order.push_back(OfStage(shape, stage)); }
  return order;
}
/// The same for all stages at once, where costs do not matter.
template <PipelineOrder (*OfShape)(const PipelineShape&)>
PipelineOrder without_costs(const PipelineShape& shape, const OrderCosts& /*costs*/) {
  return OfShape(shape);
}

StageOrder naive(const PipelineShape& shape, int stage);
StageOrder gpipe(const PipelineShape& shape, int stage);
StageOrder one_f_one_b(const PipelineShape& shape, int stage);
StageOrder interleaved(const PipelineShape& shape, int stage);
StageOrder breadth_first(const PipelineShape& shape, int stage);
StageOrder zb_h1(const PipelineShape& shape, int stage);
StageOrder zb_h2(const PipelineShape& shape, int stage);
StageOrder zb_v(const PipelineShape& shape, int stage);
PipelineOrder zb_auto(const PipelineShape& shape, const OrderCosts& costs);
PipelineOrder chimera(const PipelineShape& shape);
PipelineOrder hanayo(const PipelineShape& shape);
StageOrder dualpipe(const PipelineShape& shape, int stage);
StageOrder dualpipe_v(const PipelineShape& shape, int stage);

/// m (p-1) (F+B): one micro-batch in flight.
double naive_idle(const PipelineShape& shape, const PhaseTimes& t);
/// (p-1)(F+B)/v, and more when fewer than p micro-batches take turns on a chunk.
///   [arXiv:2104.04473, sec. 2.2]
double fill_and_drain(const PipelineShape& shape, const PhaseTimes& t);
double zb_h1_idle(const PipelineShape& shape, const PhaseTimes& t);
double zb_h2_idle(const PipelineShape& shape, const PhaseTimes& t);
double zb_v_idle(const PipelineShape& shape, const PhaseTimes& t);
double chimera_idle(const PipelineShape& shape, const PhaseTimes& t);
double hanayo_idle(const PipelineShape& shape, const PhaseTimes& t);
double dualpipe_idle(const PipelineShape& shape, const PhaseTimes& t);
double dualpipe_v_idle(const PipelineShape& shape, const PhaseTimes& t);

std::optional<Demand> interleaved_demand(const PipelineShape& shape);
std::optional<Demand> chimera_demand(const PipelineShape& shape);
std::optional<Demand> hanayo_demand(const PipelineShape& shape);
std::optional<Demand> dualpipe_demand(const PipelineShape& shape);
std::optional<Demand> dualpipe_v_demand(const PipelineShape& shape);

}  // namespace tsim::strategies
