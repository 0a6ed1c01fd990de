#include "sim/run_program.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/steps/step_network.hpp"

namespace tsim::sim {
namespace {

void refuse_circles(std::span<const ProgramRun> runs) {
  for (const ProgramRun& run : runs) {
    const std::vector<cost::StepId> steps = circle(*run.program);
    if (!steps.empty()) {
      throw std::invalid_argument(run.program->name + ": " + cost::describe_circle(steps));
    }
  }
}

void add(const std::vector<double>& bytes, std::vector<double>& sum) {
  std::ranges::transform(bytes, sum, sum.begin(), std::plus{});
}

}  // namespace

ProgramTimes run_programs(std::span<const ProgramRun> runs, cost::Router& router) {
  refuse_circles(runs);
  const std::vector<cost::Channel>& channels = router.topology().channels;
  ProgramTimes times;
  times.channel_bytes.resize(channels.size());
  std::vector<StepComm> comms;
  for (const ProgramRun& run : runs) {
    comms.push_back(step_comm(*run.program, run.devices, run.payload, run.costs, router));
    add(channel_bytes(comms.back(), channels.size()), times.channel_bytes);
    times.sends += comms.back().sends.size();
  }
  times.end.resize(runs.size());
  StepNetwork network(comms, channels);
  network.on_done([&](strategies::TaskId run) { times.end[run] = network.now(); });
  for (std::uint32_t run = 0; run < comms.size(); ++run) { network.start_comm(run, run); }
  network.run();
  times.last = runs.empty() ? Seconds{} : std::ranges::max(times.end);
  return times;
}

}  // namespace tsim::sim
