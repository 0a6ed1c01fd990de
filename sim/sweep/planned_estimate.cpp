// Choices that are planned one by one, as `tsim run` plans them.
#include <algorithm>

#include "sim/known_paths.hpp"
#include "sim/sweep/estimator.hpp"
#include "strategies/memory.hpp"

namespace tsim::sim {

Estimate Estimator::planned() {
  using strategies::Strategy;
  const ScenarioPlan plan = plan_scenario(scenario_, router_);
  Estimate e;
  e.composed = false;
  e.known = plan.closed_form.known;
  e.work = plan.closed_form.pipeline.value;
  e.transfers = plan.closed_form.transfers.value;
  e.gradients = plan.closed_form.gradients.value;
  e.optimizer = plan.closed_form.optimizer.value;
  e.step = plan.closed_form.step.value;
  const Strategy& s = plan.strategy;
  strategies::ProgramClock clock(s, times_, scenario_.cluster.devices.front().host_collective);
  const auto& kinds = scenario_.cluster.devices;
  const cost::Device& device = *std::ranges::min_element(kinds, {}, &cost::Device::memory);
  std::int64_t most = 0;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const strategies::StagePlan& sp = plan.stages[stage];
    std::vector<PartFigures> figures;
    std::int64_t buffers = 0;
    for (const strategies::ChunkPlan& chunk : sp.chunks) {
      figures.push_back(
          figures_of(chunk, s, scenario_.workload.training, clock, static_cast<int>(stage)));
      buffers = std::max(buffers, (chunk.input + chunk.output).value);
    }
    std::vector<const PartFigures*> chunks;
    for (const PartFigures& f : figures) { chunks.push_back(&f); }
    const strategies::StateBytes states = states_on_device(states_of(sp, s), s, whole_elements(sp));
    const int versions = strategies::weight_versions(s, static_cast<int>(stage));
    std::int64_t sum = parameters_in(states, versions).value + (s.pipeline > 1 ? buffers : 0);
    if (scenario_.workload.training) { sum += (states.gradients + states.optimizer).value; }
    sum += most_bytes(instants_of(plan.order[stage], static_cast<int>(sp.chunks.size())), chunks);
    most = std::max(most, sum);
  }
  e.memory = with_allowance(most) + device.reserved.value;
  e.fits = e.memory <= device.memory.value;
  return e;
}

}  // namespace tsim::sim
