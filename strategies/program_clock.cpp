#include "strategies/program_clock.hpp"

#include <algorithm>
#include <utility>

#include "strategies/exchange_plan.hpp"

namespace tsim::strategies {

using cost::CollectiveOp;

const cost::CollectiveCurve& CollectiveTimes::curve(const Strategy& strategy, CollectiveOp op,
                                                    const std::vector<int>& devices) {
  const std::string_view algorithm = algorithm_of(strategy, op);
  std::tuple key{op, std::string(algorithm), devices};
  const auto at = known_.find(key);
  if (at != known_.end()) { return at->second; }
  cost::CollectiveCurve curve = collective_curve(op, algorithm, devices, router_);
  return known_.emplace(std::move(key), std::move(curve)).first->second;
}

Seconds CollectiveTimes::time(const Strategy& strategy, CollectiveOp op,
                              const std::vector<int>& devices, Bytes size) {
  return time_at(curve(strategy, op, devices), size);
}

Seconds CollectiveTimes::exchange_time(const Strategy& strategy, const std::vector<int>& devices,
                                       Bytes size) {
  const auto [at, is_new] = exchanges_.try_emplace({devices, size});
  if (is_new) {
    at->second = time_alone(plan_exchange(strategy, devices, {size}, router_), router_.topology());
  }
  return at->second;
}

Seconds ProgramClock::comm_time(const Step& step, int stage) {
  const Communication& comm = step.comm;
  if (comm.op == CollectiveOp::all_to_all && comm.group.axis == GroupAxis::plane) {
    return times_.exchange_time(strategy_, layout_.ranks(comm.group, 0, {0, 0, stage}), comm.size);
  }
  const auto same = [&](const Known& k) {
    return k.op == comm.op && k.group == comm.group && k.stage == stage;
  };
  const auto known = std::ranges::find_if(known_, same);
  if (known != known_.end()) { return time_at(*known->curve, comm.size); }
  std::vector<int> devices = layout_.ranks(comm.group, 0, {0, 0, stage});
  if (comm.op == CollectiveOp::send_recv) { devices.push_back(devices.front()); }
  known_.push_back({comm.op, comm.group, stage, &times_.curve(strategy_, comm.op, devices)});
  return time_at(*known_.back().curve, comm.size);
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
