#include "sim/run_async.hpp"

#include <utility>

#include "sim/simulate.hpp"
#include "strategies/optimizers.hpp"

namespace tsim::sim {
namespace {

/// What one of the servers steps.
strategies::Weights part_of_server(const strategies::BuildInput& input, std::size_t servers) {
  const strategies::StagePlan& plan = input.stages.front();
  return strategies::share_of({plan.elements, plan.shapes}, static_cast<std::int64_t>(servers));
}

}  // namespace

void run_async(const strategies::BuildInput& input, const Scenario& s, Simulation& result) {
  const cost::Topology& topology = s.cluster.topology;
  strategies::AsyncInput async{
      .build = input, .slowdown = s.slowdown, .jitter = s.jitter, .server_step = {}};
  const std::vector<int> servers = strategies::server_devices(s.strategy);
  const strategies::Weights part = part_of_server(input, servers.size());
  async.server_step.reserve(servers.size());
  for (const int server : servers) {
    const auto kind = topology.device_kind[static_cast<std::size_t>(server)];
    const cost::Device& device = s.cluster.devices[static_cast<std::size_t>(kind)];
    async.server_step.push_back(optimizer_time(part, s.strategy, device));
  }
  strategies::AsyncRun run = build_async(async);
  result.timeline = simulate(run.graph, topology.channels);
  result.async = async_report(run, result.timeline);
  result.graph = std::move(run.graph);
  result.closed_form.known = false;
  if (s.strategy.async.servers == 0) { return; }
  strategies::StagePlan of_servers;
  of_servers.elements = own_elements(part);
  result.stages.push_back(std::move(of_servers));
}

}  // namespace tsim::sim
