#include "sim/cli/calibrate/answer.hpp"

#include "sim/input/read_scenario.hpp"

namespace tsim::cli {

AnsweredScenario answer_of(const std::filesystem::path& scenario) {
  AnsweredScenario answer{.scenario = sim::read_scenario_file(scenario, {}).base};
  const sim::Simulation simulation = sim::run_scenario(answer.scenario);
  answer.report = summarise(answer.scenario, simulation);
  answer.report.lookups = sim::lookups(answer.scenario, simulation.model,
                                       answer.scenario.cluster.devices.front(), simulation.stages);
  return answer;
}

}  // namespace tsim::cli
