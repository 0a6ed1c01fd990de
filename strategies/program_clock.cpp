#include "strategies/program_clock.hpp"

#include <algorithm>

namespace tsim::strategies {

using cost::CollectiveOp;

Seconds CollectiveTimes::time(const Strategy& strategy, CollectiveOp op,
                              const std::vector<int>& devices, Bytes size) {
  const std::string_view algorithm = algorithm_of(strategy, op);
  const auto [at, added] = known_.try_emplace({op, std::string(algorithm), size, devices});
  if (added) {
    at->second =
        time_alone(plan_collective(op, algorithm, devices, size, router_), topology_, router_);
  }
  return at->second;
}

Seconds ProgramClock::comm_time(const Step& step, int stage) {
  std::vector<int> devices = layout_.ranks(step.comm.group, 0, {0, 0, stage});
  if (step.comm.op == CollectiveOp::send_recv) { devices.push_back(devices.front()); }
  return times_.time(strategy_, step.comm.op, devices, step.comm.size);
}

Seconds ProgramClock::host_time(const Step& step) const {
  return step.is_comm && !is_copy(step.comm.group.axis) ? host_collective_ : step.host;
}

StepTimes ProgramClock::times_of(const Program& program, int stage) {
  const std::size_t count = program.steps.size();
  StepTimes times{std::vector<Seconds>(count), std::vector<Seconds>(count), {}, {}};
  Seconds free;  // communications between replicas queue
  Seconds host;  // has launched so far
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = program.steps[i];
    Seconds start = reads_input(step) ? Seconds{} : free;
    for (const int before : step.after) {
      start = std::max(start, times.end[static_cast<std::size_t>(before)]);
    }
    times.start[i] = start;
    times.end[i] = start + (step.is_comm ? comm_time(step, stage) : step.duration);
    host += host_time(step);
    if (!step.is_comm) { times.end[i] = std::max(times.end[i], host); }
    if (!reads_input(step)) { free = times.end[i]; }
    times.all = std::max(times.all, times.end[i]);
  }
  for (const int exit : program.exits) {
    times.exits = std::max(times.exits, times.end[static_cast<std::size_t>(exit)]);
  }
  return times;
}

}  // namespace tsim::strategies
