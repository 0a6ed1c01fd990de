// How each communication of a graph loads the wires, and where communications can meet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/topology.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// Transfer time of a communication with the wires to itself, its latency not included:
/// max over its channels of (bytes of all its flows there / bandwidth).
double transfer_alone(const strategies::Comm& comm, std::span<const cost::Channel> channels);

/// A flow that may meet others.
struct SharedFlow {
  std::uint32_t path = 0;  // index in CommLoads::paths
  double bytes = 0;
};

/// One communication. Flows on channels that no other one can use at the same time are private:
/// they always take `alone_private`.
struct CommLoad {
  double latency = 0;                    // seconds
  double alone = 0;                      // seconds of transfer, with the wires to itself
  double alone_private = 0;              // the same of the private flows only
  std::vector<SharedFlow> flows;         // the others
  std::vector<cost::ChannelId> meeting;  // channels on which another may be met
};

struct CommLoads {
  std::vector<CommLoad> comms;                      // by index in the graph's comms
  std::vector<std::vector<cost::ChannelId>> paths;  // distinct channel lists of shared flows
};

/// Which communications can meet where. Those of one group on one stream never meet when the
/// graph's edges put them one after the other; all others may.
CommLoads comm_loads(const strategies::TaskGraph& graph, std::span<const cost::Channel> channels);

}  // namespace tsim::sim
