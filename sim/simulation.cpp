#include "sim/simulation.hpp"

#include <algorithm>

#include "sim/simulate.hpp"
#include "sim/slices.hpp"
#include "sim/steps/simulate_steps.hpp"
#include "strategies/optimizers.hpp"

namespace tsim::sim {
namespace {

models::BuildOptions build_options(const Scenario& s) {
  return {.micro_batch = s.workload.micro_batch,
          .sequence = s.workload.sequence,
          .decoder_sequence = s.workload.decoder_sequence,
          .compute = s.strategy.precision.compute,
          .flash_attention = s.strategy.flash_attention,
          .dropout = s.workload.dropout && s.workload.training,
          .loss = s.workload.training};
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
                                  .training = input.training});
}

/// Several iterations of workers that meet at parameter servers.
void run_async(const strategies::BuildInput& input, const Scenario& s, Simulation& result) {
  const cost::Topology& topology = s.cluster.topology;
  strategies::AsyncInput async{
      .build = input, .slowdown = s.slowdown, .jitter = s.jitter, .server_step = {}};
  const std::vector<int> servers = strategies::server_devices(s.strategy);
  const strategies::StagePlan& plan = input.stages.front();
  const auto part =
      strategies::share_of({plan.elements, plan.shapes}, static_cast<std::int64_t>(servers.size()));
  for (const int server : servers) {
    const auto kind = topology.device_kind[static_cast<std::size_t>(server)];
    async.server_step.push_back(
        optimizer_time(part, s.strategy, s.cluster.devices[static_cast<std::size_t>(kind)]));
  }
  strategies::AsyncRun run = build_async(async);
  result.timeline = simulate(run.graph, topology.channels);
  result.async = async_report(run, result.timeline);
  result.graph = std::move(run.graph);
  result.closed_form.known = false;
  if (s.strategy.async.servers == 0) { return; }
  strategies::StagePlan of_servers;
  of_servers.elements = own_elements(part);
  result.stages.push_back(std::move(of_servers));
}

}  // namespace

Simulation run_scenario(const Scenario& scenario) {
  const std::vector<cost::Device>& kinds = scenario.cluster.devices;
  const cost::Topology& topology = scenario.cluster.topology;
  Simulation result;
  result.model = build_model(scenario.model, build_options(scenario));
  const auto present = kinds_of_stages(strategies::Layout(scenario.strategy), topology.device_kind);
  auto plans = plan_stages(result.model, scenario.strategy, kinds, present,
                           static_cast<int>(micro_batches(scenario)));
  result.stages = slowest_plans(plans, present);
  std::vector<strategies::KindPlan> by_kind;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    by_kind.push_back({std::move(plans[kind]), kinds[kind].reserved});
  }
  cost::Router router(topology);
  const bool steps = scenario.strategy.fidelity == strategies::Fidelity::steps;
  if (scenario.fold == Fold::automatic && !steps && !scenario.strategy.async.through_servers) {
    result.folded = fold_alike(foldable_axes(scenario.strategy, result.stages, topology, router),
                               strategies::Layout(scenario.strategy), scenario.slowdown);
  }
  Slices slices = token_slices(scenario, result.model.options, result.stages);
  result.slice_tokens = std::move(slices.tokens);
  const std::size_t pieces = std::max<std::size_t>(1, slices.stages.size());
  const strategies::BuildInput input{
      .strategy = scenario.strategy,
      .stages = result.stages,
      .topology = topology,
      .router = router,
      .micro_batches = static_cast<int>(micro_batches(scenario) * static_cast<int>(pieces)),
      .training = scenario.workload.training,
      .folded = result.folded,
      .reserved = kinds.front().reserved,
      .kinds = by_kind,
      .slices = slices.stages};
  if (scenario.strategy.async.through_servers) {
    run_async(input, scenario, result);
    return result;
  }
  result.closed_form = closed_form_of(input, scenario);
  result.graph = strategies::build_tasks(input);
  slow_ranks(result.graph, scenario.slowdown);
  result.timeline =
      steps ? simulate_steps(result.graph, router) : simulate(result.graph, topology.channels);
  return result;
}

}  // namespace tsim::sim
