#include "sim/report/host_memory.hpp"

#include <algorithm>
#include <map>

#include "strategies/layout.hpp"
#include "strategies/memory.hpp"

namespace tsim::sim {
namespace {

using strategies::Strategy;

void add(const strategies::StateBytes& states, HostReport& host) {
  host.parameters += states.parameters;
  host.gradients += states.gradients;
  host.optimizer += states.optimizer;
}

/// What one rank of a stage keeps outside its device.
HostReport of_rank(const Scenario& scenario, const Simulation& simulation, std::size_t stage,
                   int in_flight) {
  const Strategy& s = scenario.strategy;
  const strategies::StagePlan& plan = simulation.stages[stage];
  const auto all = strategies::states_of(plan, s);
  const std::int64_t whole = strategies::whole_elements(plan);
  HostReport host;
  add(states_on_host(all, s, whole), host);
  const auto drives = states_on_drives(all, s, whole);
  host.drives = drives.parameters + drives.gradients + drives.optimizer;
  if (s.offload.activations == strategies::ActivationsAt::cpu) {
    Bytes most;  // of a chunk; so many chunks' are held at once
    for (const auto& chunk : plan.chunks) { most = std::max(most, chunk.elsewhere); }
    host.activations = in_flight * most;
  }
  return host;
}

}  // namespace

Bytes total(const HostReport& host) {
  return host.parameters + host.gradients + host.optimizer + host.activations;
}

void add_host_memory(const Scenario& scenario, const Simulation& simulation, Report& report) {
  if (!uses_host(scenario.strategy)) { return; }
  const strategies::Layout layout(scenario.strategy);
  std::map<std::int32_t, HostReport> hosts;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    const HostReport rank = of_rank(scenario, simulation, at, report.stages[at].in_flight);
    for (int replica = 0; replica < layout.replicas(); ++replica) {
      for (const int device : layout.tensor_group(replica, stage)) {
        HostReport& host = hosts[node_of(scenario.cluster.topology, device)];
        host.parameters += rank.parameters;
        host.gradients += rank.gradients;
        host.optimizer += rank.optimizer;
        host.activations += rank.activations;
        host.drives += rank.drives;
      }
    }
  }
  const auto fullest =
      std::ranges::max_element(hosts, {}, [](const auto& entry) { return total(entry.second); });
  report.host = fullest->second;
  report.host->node = fullest->first;
  report.host->capacity = scenario.strategy.offload.host_memory;
  const Bytes capacity = report.host->capacity;
  report.host->fits = capacity.value == 0 || total(*report.host) <= capacity;
  report.fits = report.fits && report.host->fits;
}

}  // namespace tsim::sim
