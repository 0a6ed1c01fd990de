#include "sim/net/net_run.hpp"

#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "cost/programs/lay_out.hpp"
#include "sim/run_program.hpp"
#include "sim/simulate.hpp"

namespace tsim::sim {
namespace {

using cost::CollectiveOp;
using cost::CollectivePlan;
using cost::Router;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Messages from each rank to each other one are listed one by one.
void refuse_too_many_messages(const NetOp& op) {
  constexpr std::size_t kMost = 4096;
  if (op.op == CollectiveOp::all_to_all && op.devices.size() > kMost) {
    throw std::length_error("all_to_all over " + std::to_string(op.devices.size()) +
                            " ranks, expected at most " + std::to_string(kMost));
  }
}

CollectivePlan plan_of(const NetOp& op, Bytes size, Router& router) {
  if (!op.servers.empty()) { return plan_parameter_servers(op.devices, op.servers, size, router); }
  return plan_collective(op.op, op.algorithm, op.devices, size, router);
}

/// A collective that is going to run.
struct Prepared {
  const NetOp* op = nullptr;
  Bytes size;
  CollectivePlan plan;
};

/// The fastest of the algorithms that have steps.
CollectivePlan plan_with_steps(const NetOp& op, Bytes size, Router& router) {
  if (!op.servers.empty()) {
    throw std::invalid_argument("parameter servers of their own have no steps");
  }
  std::vector<std::string_view> names{op.algorithm};
  if (op.algorithm == "auto") { names = automatic_algorithms(op.op); }
  std::optional<CollectivePlan> best;
  Seconds least;
  for (const std::string_view name : names) {
    if (!has_steps(op.op, name, op.devices, router)) { continue; }
    CollectivePlan plan = plan_collective(op.op, name, op.devices, size, router);
    const Seconds time = time_alone(plan, router.topology(), router);
    if (best && time >= least) { continue; }
    least = time;
    best = std::move(plan);
  }
  if (best) { return *std::move(best); }
  if (names.size() == 1) { plan_collective(op.op, names[0], op.devices, size, router); }
  throw std::invalid_argument(op.algorithm + ": has no steps from rank to rank on these devices");
}

/// A program's bytes between ranks, all steps added up.
CollectivePlan plan_of_program(const NetOp& op, Bytes size) {
  CollectivePlan plan{op.program->name, {}, {}, {}, {}};
  const double chunk = to_double(size) / op.program->chunks;
  std::map<std::pair<int, int>, double> bytes;
  for (const cost::Step& s : op.program->steps) {
    if (s.from != s.to) { bytes[{s.from, s.to}] += s.count * chunk; }
  }
  for (const auto& [pair, sum] : bytes) {
    plan.transfers.push_back({op.devices[index(pair.first)], op.devices[index(pair.second)], sum});
  }
  return plan;
}

/// Payload that crosses each channel, and the seconds that it needs for the bytes on the wire.
void add_loads(const CollectivePlan& plan, Router& router, NetRow& row) {
  const auto& channels = router.topology().channels;
  for (const cost::Transfer& t : plan.transfers) {
    for (const cost::ChannelId c : router.path(t.from, t.to).channels) {
      row.channel_bytes[index(c)] += t.bytes * plan.costs.share;
      row.wire_seconds[index(c)] += t.bytes / channels[index(c)].bandwidth.value;
    }
  }
}

/// One task for each communication, all of them started at time 0.
std::vector<Seconds> times_of_flows(const std::vector<Prepared>& runs, Router& router) {
  strategies::TaskGraphBuilder builder;
  for (const Prepared& run : runs) {
    strategies::Comm comm;
    comm.ranks = static_cast<std::int32_t>(run.op->devices.size());
    comm.latency = run.plan.latency;
    for (const cost::Transfer& t : run.plan.transfers) {
      const cost::Path& path = router.path(t.from, t.to);
      if (!path.channels.empty() && t.bytes > 0) { comm.flows.push_back({path.channels, t.bytes}); }
    }
    const auto number = static_cast<std::uint32_t>(builder.graph.comms.size());
    builder.graph.comms.push_back(std::move(comm));
    builder.graph.groups.emplace_back();
    builder.add({.work = number, .place = number, .kind = strategies::TaskKind::comm});
  }
  const auto graph = std::move(builder).finish();
  const Timeline timeline = simulate(graph, router.topology().channels);
  std::vector<Seconds> ends;
  for (const double end : timeline.end) { ends.push_back({end}); }
  return ends;
}

std::vector<Seconds> times_of_steps(std::span<const Prepared> runs, Router& router) {
  std::vector<cost::CollectiveProgram> programs;
  std::vector<ProgramRun> all;
  programs.reserve(runs.size());
  for (const Prepared& run : runs) {
    programs.push_back(run.op->program ? *run.op->program
                                       : *program_on(run.op->op, run.plan.algorithm,
                                                     run.op->devices, run.size, router));
    all.push_back({&programs.back(), run.op->devices, run.size, run.plan.costs});
  }
  return run_programs(all, router).end;
}

Seconds time_of_lone(const Prepared& run, bool steps, Router& router) {
  if (!steps) { return time_alone(run.plan, router.topology(), router); }
  if (run.op->program) { return times_of_steps({&run, 1}, router)[0]; }
  return run_steps({run.op->op, run.plan.algorithm, run.op->devices, run.size, run.plan.costs},
                   router)
      ->last;
}

}  // namespace

double algorithm_bandwidth(const NetRow& row) {
  return row.time.value > 0 ? to_double(row.size) / row.time.value : 0;
}

double bus_bandwidth(const NetRow& row, const NetOp& op) {
  return algorithm_bandwidth(row) * bus_factor(op.op, static_cast<int>(op.devices.size()));
}

NetRow net_row(const NetRequest& request, Bytes size, Router& router) {
  refuse_too_many_messages(request.op);
  for (const Beside& other : request.beside) { refuse_too_many_messages(other.op); }
  const bool steps = request.steps || request.op.program;
  const auto prepare = [&](const NetOp& op, Bytes bytes) -> Prepared {
    if (op.program) { return {&op, bytes, plan_of_program(op, bytes)}; }
    return {&op, bytes, steps ? plan_with_steps(op, bytes, router) : plan_of(op, bytes, router)};
  };
  std::vector<Prepared> runs{prepare(request.op, size)};
  for (const Beside& other : request.beside) { runs.push_back(prepare(other.op, other.size)); }
  NetRow row{.size = size, .algorithm = runs[0].plan.algorithm, .protocol = runs[0].plan.protocol};
  row.channel_bytes.resize(router.topology().channels.size());
  row.wire_seconds.resize(row.channel_bytes.size());
  for (const Prepared& run : runs) { add_loads(run.plan, router, row); }
  row.time = row.alone = time_of_lone(runs[0], steps, router);
  if (runs.size() > 1) {
    const auto ends = steps ? times_of_steps(runs, router) : times_of_flows(runs, router);
    row.time = ends[0];
    row.beside.assign(ends.begin() + 1, ends.end());
  }
  return row;
}

}  // namespace tsim::sim
