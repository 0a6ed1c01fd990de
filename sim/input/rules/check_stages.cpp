// Rules of models whose layers have widths of their own.
#include "sim/input/rules/check.hpp"

namespace tsim::sim {

void check_stages(const Check& check) {
  const Scenario& scenario = check.scenario;
  if (scenario.model.stages.empty() || !check.clean({"/model", "/strategy"})) { return; }
  const strategies::Strategy& s = scenario.strategy;
  const std::string what = " for a model with stages, whose layers are not split alike";
  if (s.tensor > 1) { check.fail("/strategy/tensor", text(s.tensor), "1" + what); }
  if (s.sequence_parallel) { check.fail("/strategy/sequence_parallel", "true", "false" + what); }
  if (strategies::expert_tensor(s) > 1) {
    check.fail("/strategy/expert_tensor", text(strategies::expert_tensor(s)), "1" + what);
  }
}

}  // namespace tsim::sim
