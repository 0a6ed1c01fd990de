// From a scenario to its timeline.
#pragma once

#include <optional>

#include "sim/report/async_report.hpp"
#include "sim/scenario.hpp"
#include "sim/timeline.hpp"
#include "strategies/build_tasks.hpp"
#include "strategies/closed_form.hpp"

namespace tsim::sim {

/// Everything that a report is read from.
struct Simulation {
  strategies::ExpertDraws draws;  // by MoE layer, where experts get unequal numbers of rows
  models::Model model;
  std::vector<strategies::StagePlan> stages;  // on the slowest devices that each has
  strategies::FoldedAxes folded;
  strategies::TaskGraph graph;
  Timeline timeline;
  strategies::ClosedForm closed_form;
  std::vector<std::int64_t> slice_tokens;  // of a sample cut into slices; empty: it is whole
  std::optional<AsyncReport> async;        // of workers with parameter servers
};

/// How the scenario's model is built for its workload.
models::BuildOptions build_options(const Scenario& scenario);

/// What is known of a scenario before any event.
struct ScenarioPlan {
  strategies::Strategy strategy;              // with "fit" solved
  std::vector<strategies::StagePlan> stages;  // on the slowest devices that each has
  strategies::PipelineOrder order;
  strategies::ClosedForm closed_form;
};
/// Of a scenario whose replicas meet in collectives and whose samples are whole.
ScenarioPlan plan_scenario(const Scenario& scenario);

/// Runs one iteration of `scenario`, which has been checked. Throws Stuck when tasks wait for each
/// other for ever.
Simulation run_scenario(const Scenario& scenario);

}  // namespace tsim::sim
