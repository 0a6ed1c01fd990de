#include "sim/cli/calibrate/prediction.hpp"

#include "sim/cli/setting_texts.hpp"
#include "sim/input/read_scenario.hpp"

namespace tsim::cli {

Prediction prediction_of(const std::filesystem::path& scenario, std::span<const Setting> settings) {
  Prediction prediction{.scenario =
                            sim::read_scenario_file(scenario, setting_texts(settings)).base};
  const sim::Simulation simulation = sim::run_scenario(prediction.scenario);
  prediction.report = summarise(prediction.scenario, simulation);
  prediction.report.lookups =
      sim::lookups(prediction.scenario, simulation.model,
                   prediction.scenario.cluster.devices.front(), simulation.stages);
  return prediction;
}

}  // namespace tsim::cli
