#include "sim/run_program.hpp"

#include <algorithm>
#include <stdexcept>

#include "cost/programs/lay_out.hpp"
#include "sim/steps/fold_rings.hpp"
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

/// Runs one communication alone.
Seconds time_of(const StepComm& comm, std::span<const cost::Channel> channels) {
  StepNetwork network({&comm, 1}, channels);
  Seconds end;
  network.on_done([&](strategies::TaskId) { end = network.now(); });
  network.start_comm(0, 0);
  network.run();
  return end;
}

ProgramTimes run_folded(const FoldedRings& rings) {
  ProgramTimes times;
  times.last = time_of(rings.comm, rings.classes);
  times.end = {times.last};
  times.sends = rings.comm.sends.size();
  const std::vector<double> by_class = channel_bytes(rings.comm, rings.classes.size());
  for (const std::uint32_t cls : rings.class_of) {
    times.channel_bytes.push_back(cls == FoldedRings::kNoClass ? 0.0 : by_class[cls]);
  }
  return times;
}

std::optional<FoldedRings> folded_rings(const StepsRequest& request, cost::Router& router) {
  const bool rooted =
      request.op == cost::CollectiveOp::broadcast || request.op == cost::CollectiveOp::reduce;
  if (request.algorithm != "ring" || rooted || request.devices.size() < 2) { return std::nullopt; }
  const auto orders = cost::ring_ranks(request.devices, router);
  cost::refuse_too_many_steps(request.op, "ring", request.devices.size(), 1);
  return fold_rings({request.op, request.devices, request.payload, request.costs}, orders, router);
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

std::optional<ProgramTimes> run_steps(const StepsRequest& request, cost::Router& router) {
  if (const auto rings = folded_rings(request, router)) { return run_folded(*rings); }
  const auto program =
      program_on(request.op, request.algorithm, request.devices, request.payload, router);
  if (!program) { return std::nullopt; }
  const ProgramRun run{&*program, request.devices, request.payload, request.costs};
  return run_programs({&run, 1}, router);
}

}  // namespace tsim::sim
