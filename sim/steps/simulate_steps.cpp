#include "sim/steps/simulate_steps.hpp"

#include <stdexcept>
#include <string>

#include "cost/programs/lay_out.hpp"
#include "sim/steps/step_network.hpp"

namespace tsim::sim {
namespace {

constexpr std::size_t kMostSends = 50'000'000;  // of different communications; about 3 GB

StepComm steps_of(const strategies::Comm& comm, cost::Router& router) {
  if (comm.ranks < 2) { return aggregated_comm(comm); }
  const auto program = program_on(comm.op, comm.algorithm, comm.devices, comm.payload, router);
  if (!program) { return aggregated_comm(comm); }
  return step_comm(*program, comm.devices, comm.payload, comm.costs, router);
}

}  // namespace

Timeline simulate_steps(const strategies::TaskGraph& graph, cost::Router& router) {
  std::vector<StepComm> comms;
  std::size_t sends = 0;
  comms.reserve(graph.comms.size());
  for (const strategies::Comm& comm : graph.comms) {
    comms.push_back(steps_of(comm, router));
    sends += comms.back().sends.size();
    if (sends > kMostSends) {
      throw std::runtime_error("the communications have more than " + std::to_string(kMostSends) +
                               R"( steps; with "fidelity": "aggregated" they are flows)");
    }
  }
  const std::vector<cost::Channel>& channels = router.topology().channels;
  StepNetwork network(comms, channels);
  Timeline timeline = replay(graph, network);
  timeline.channel_bytes.resize(channels.size());
  return timeline;
}

}  // namespace tsim::sim
