#include "sim/net/run_synthesis.hpp"

#include <utility>

#include "sim/run_program.hpp"

namespace tsim::sim {

SynthesisRun run_synthesis(const cost::SynthesisRequest& request, cost::Router& router,
                           const cost::Progress& progress) {
  const auto times = [&](const cost::CollectiveProgram& program, const cost::StepCosts& costs) {
    const ProgramRun run{&program, request.devices, request.payload, costs};
    return run_programs({&run, 1}, router);
  };
  cost::Synthesis synthesis = cost::synthesise(
      request, router,
      [&](const auto& program, const auto& costs) { return times(program, costs).last; }, progress);
  std::vector<double> bytes = times(synthesis.program, synthesis.costs).channel_bytes;
  return {std::move(synthesis), std::move(bytes)};
}

}  // namespace tsim::sim
