#include "sim/steps/step_comm.hpp"

#include <algorithm>
#include <cassert>

namespace tsim::sim {

using cost::CollectiveProgram;
using cost::Step;
using cost::StepCosts;
using cost::StepId;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Numbers connections (from, to, channel) as they come.
class ConnectionTable {
 public:
  ConnectionTable(std::span<const int> devices, const StepCosts& costs, cost::Router& router)
      : devices_(devices), costs_(costs), router_(router), by_rank_(devices.size()) {}

  std::uint32_t of(const Step& step) {
    for (const Entry& e : by_rank_[index(step.from)]) {
      if (e.to == step.to && e.channel == step.channel) { return e.connection; }
    }
    const auto fresh = static_cast<std::uint32_t>(connections.size());
    by_rank_[index(step.from)].push_back({step.to, step.channel, fresh});
    connections.push_back(connection(devices_[index(step.from)], devices_[index(step.to)]));
    return fresh;
  }

  std::vector<Connection> connections;

 private:
  struct Entry {
    std::int32_t to;
    std::uint8_t channel;
    std::uint32_t connection;
  };

  Connection connection(int from, int to) {
    if (from == to) { return {}; }
    const cost::Path& path = router_.path(from, to);
    const cost::Topology& t = router_.topology();
    const bool inside = node_of(t, from) == node_of(t, to);
    const Seconds latency = path.latency + (inside ? costs_.step : costs_.network_step);
    return {path.channels, latency.value};
  }

  std::span<const int> devices_;
  const StepCosts& costs_;
  cost::Router& router_;
  std::vector<std::vector<Entry>> by_rank_;
};

/// Turns "waits for" around.
void find_successors(const CollectiveProgram& program, StepComm& comm) {
  const std::size_t steps = program.steps.size();
  comm.first.assign(steps + 1, 0);
  for (const StepId before : program.after) { ++comm.first[before + 1]; }
  for (std::size_t i = 0; i < steps; ++i) { comm.first[i + 1] += comm.first[i]; }
  comm.successor.resize(program.after.size());
  for (StepId i = 0; i < steps; ++i) {
    for (const StepId before : dependencies(program, i)) {
      comm.successor[comm.first[before]++] = i;
    }
  }
  // The row starts have become row ends.
  std::move_backward(comm.first.begin(), comm.first.end() - 1, comm.first.end());
  comm.first[0] = 0;
}

}  // namespace

StepComm step_comm(const CollectiveProgram& program, std::span<const int> devices, Bytes payload,
                   const StepCosts& costs, cost::Router& router) {
  assert(static_cast<int>(devices.size()) == program.ranks);
  StepComm comm;
  const double chunk = to_double(payload) / program.chunks / costs.share;
  ConnectionTable table(devices, costs, router);
  comm.sends.reserve(program.steps.size());
  comm.waits.reserve(program.steps.size());
  for (StepId i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    comm.sends.push_back({table.of(step), step.from == step.to ? 0.0 : step.count * chunk});
    comm.waits.push_back(program.first[i + 1] - program.first[i]);
  }
  comm.connections = std::move(table.connections);
  find_successors(program, comm);
  comm.before = costs.once.value;
  comm.least = costs.least.value;
  return comm;
}

StepComm aggregated_comm(const strategies::Comm& comm) {
  StepComm result;
  result.before = comm.latency.value;
  for (const strategies::Flow& flow : comm.flows) {
    result.sends.push_back({static_cast<std::uint32_t>(result.connections.size()), flow.bytes});
    result.connections.push_back({flow.channels, 0});
  }
  result.waits.assign(result.sends.size(), 0);
  result.first.assign(result.sends.size() + 1, 0);
  return result;
}

std::vector<double> channel_bytes(const StepComm& comm, std::size_t channels) {
  std::vector<double> by_connection(comm.connections.size());
  for (const Send& send : comm.sends) { by_connection[send.connection] += send.bytes; }
  std::vector<double> bytes(channels);
  for (std::size_t i = 0; i < by_connection.size(); ++i) {
    for (const cost::ChannelId c : comm.connections[i].path) {
      bytes[index(c)] += by_connection[i];
    }
  }
  return bytes;
}

}  // namespace tsim::sim
