#include "sim/simulation.hpp"

#include <algorithm>

#include "sim/known_paths.hpp"
#include "sim/run_async.hpp"
#include "sim/simulate.hpp"
#include "sim/slices.hpp"
#include "sim/steps/simulate_steps.hpp"
#include "strategies/recompute.hpp"

namespace tsim::sim {
namespace {

/// Whether products add to gradients of 32 bits and are themselves in a narrower format.
bool sums_in_fp32(const strategies::Strategy& s) {
  using models::DType;
  return s.precision.gradient == DType::fp32 && !s.eager_accumulation &&
         size_of(s.precision.compute) < size_of(DType::fp32);
}

}  // namespace

models::BuildOptions build_options(const Scenario& s) {
  return {.micro_batch = s.workload.micro_batch,
          .sequence = s.workload.sequence,
          .decoder_sequence = s.workload.decoder_sequence,
          .compute = s.strategy.precision.compute,
          .flash_attention = s.strategy.flash_attention,
          .dropout = s.workload.dropout && s.workload.training,
          .loss = s.workload.training,
          .fp32_sums = sums_in_fp32(s.strategy),
          .capacity_factor = capacity_factor(s.strategy.experts),
          .scales_early = s.strategy.experts.scales_early,
          .kept = s.strategy.precision.kept};
}

namespace {

/// The strategy with "fit" solved, on the kind of device with least memory.
strategies::Strategy solved(const Scenario& scenario, const models::Model& model) {
  const strategies::Strategy& s = scenario.strategy;
  if (s.recompute_method != strategies::RecomputeMethod::fit) { return s; }
  const auto& kinds = scenario.cluster.devices;
  const cost::Device& device = *std::ranges::min_element(kinds, {}, &cost::Device::memory);
  const auto stages = plan_stages(model, s, device);
  cost::Router router(scenario.cluster.topology);
  const strategies::BuildInput build{.strategy = s,
                                     .stages = stages,
                                     .topology = scenario.cluster.topology,
                                     .router = router,
                                     .micro_batches = static_cast<int>(micro_batches(scenario)),
                                     .training = true,
                                     .folded = {},
                                     .costs = strategies::rank_costs(device)};
  return strategies::fit_recompute({model, device, build, scenario.allowance});
}

/// With every stage as slow as its slowest rank.
strategies::ClosedForm closed_form_of(const strategies::BuildInput& input, const Scenario& s) {
  const auto slowed =
      strategies::slowed_plans(input.stages, strategies::Layout(s.strategy), s.slowdown);
  return strategies::closed_form({.strategy = input.strategy,
                                  .stages = slowed,
                                  .topology = input.topology,
                                  .router = input.router,
                                  .micro_batches = input.micro_batches,
                                  .training = input.training,
                                  .folded = input.folded,
                                  .costs = input.costs,
                                  .kinds = input.kinds,
                                  .rank_variants = input.rank_variants,
                                  .draws = input.draws,
                                  .slices = input.slices});
}

/// Each kind of device `variants` times, one after another.
std::vector<cost::Device> repeated(const std::vector<cost::Device>& kinds, int variants) {
  std::vector<cost::Device> list;
  for (const cost::Device& kind : kinds) {
    list.insert(list.end(), static_cast<std::size_t>(variants), kind);
  }
  return list;
}

std::vector<std::vector<int>> with_variants(const std::vector<std::vector<int>>& kinds_by_stage,
                                            int variants) {
  std::vector<std::vector<int>> list(kinds_by_stage.size());
  for (std::size_t stage = 0; stage < list.size(); ++stage) {
    for (const int kind : kinds_by_stage[stage]) {
      for (int v = 0; v < variants; ++v) { list[stage].push_back(kind * variants + v); }
    }
  }
  return list;
}

/// Stages planned for every kind of device.
struct Planned {
  models::Model model;
  strategies::Strategy strategy;  // with "fit" solved
  int variants = 1;               // entries of by_kind for each kind of device
  std::vector<strategies::StagePlan> stages;
  std::vector<strategies::KindPlan> by_kind;
};

Planned planned(const Scenario& scenario) {
  const cost::Topology& topology = scenario.cluster.topology;
  Planned result;
  result.variants = strategies::rank_variants(scenario.strategy, scenario.model.causal);
  const std::vector<cost::Device> kinds = repeated(scenario.cluster.devices, result.variants);
  result.model = build_model(scenario.model, build_options(scenario));
  result.strategy = solved(scenario, result.model);
  const auto present = with_variants(
      kinds_of_stages(strategies::Layout(result.strategy), topology.device_kind), result.variants);
  auto plans = plan_stages(result.model, result.strategy, kinds, present,
                           static_cast<int>(micro_batches(scenario)));
  result.stages = slowest_plans(plans, present);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    result.by_kind.push_back({std::move(plans[kind]), strategies::rank_costs(kinds[kind])});
  }
  return result;
}

}  // namespace

ScenarioPlan plan_scenario(const Scenario& scenario, cost::Router& router) {
  Planned plan = planned(scenario);
  const strategies::BuildInput input{
      .strategy = plan.strategy,
      .stages = plan.stages,
      .topology = scenario.cluster.topology,
      .router = router,
      .micro_batches = static_cast<int>(micro_batches(scenario)),
      .training = scenario.workload.training,
      .folded = {},
      .costs = strategies::rank_costs(scenario.cluster.devices.front()),
      .kinds = plan.by_kind,
      .rank_variants = plan.variants};
  ScenarioPlan result{.strategy = {},
                      .stages = {},
                      .order = iteration_order(input),
                      .closed_form = closed_form_of(input, scenario)};
  result.strategy = std::move(plan.strategy);
  result.stages = std::move(plan.stages);
  return result;
}

ScenarioPlan plan_scenario(const Scenario& scenario) {
  cost::Router router(scenario.cluster.topology);
  return plan_scenario(scenario, router);
}

namespace {

Simulation simulated(const Scenario& scenario, cost::Router& router, bool with_closed_form) {
  const cost::Topology& topology = scenario.cluster.topology;
  Planned plan = planned(scenario);
  const strategies::Strategy& strategy = plan.strategy;
  Simulation result;
  result.model = std::move(plan.model);
  result.stages = std::move(plan.stages);
  result.draws = draw_experts(result.model, strategy);
  const bool steps = strategy.fidelity == strategies::Fidelity::steps;
  const bool in_collectives = !strategy.async.through_servers;
  if (scenario.fold == Fold::automatic && !steps && in_collectives) {
    result.folded =
        fold_alike(foldable_axes(strategy, scenario.model.causal, result.stages, topology, router),
                   strategies::Layout(strategy), scenario.slowdown);
  }
  Slices slices = token_slices(scenario, result.model.options, result.stages);
  result.slice_tokens = std::move(slices.tokens);
  const std::size_t pieces = std::max<std::size_t>(1, slices.stages.size());
  const strategies::BuildInput input{
      .strategy = strategy,
      .stages = result.stages,
      .topology = topology,
      .router = router,
      .micro_batches = static_cast<int>(micro_batches(scenario) * static_cast<int>(pieces)),
      .training = scenario.workload.training,
      .folded = result.folded,
      .costs = strategies::rank_costs(scenario.cluster.devices.front()),
      .kinds = plan.by_kind,
      .rank_variants = plan.variants,
      .draws = &result.draws,
      .slices = slices.stages};
  if (!in_collectives) {
    run_async(input, scenario, result);
    return result;
  }
  result.closed_form.known = false;
  if (with_closed_form) { result.closed_form = closed_form_of(input, scenario); }
  result.graph = strategies::build_tasks(input);
  slow_ranks(result.graph, scenario.slowdown);
  result.timeline =
      steps ? simulate_steps(result.graph, router) : simulate(result.graph, topology.channels);
  return result;
}

}  // namespace

Simulation run_scenario(const Scenario& scenario) {
  cost::Router router(scenario.cluster.topology);
  return simulated(scenario, router, true);
}

Simulation run_scenario(const Scenario& scenario, cost::Router& router) {
  return simulated(scenario, router, false);
}

}  // namespace tsim::sim
