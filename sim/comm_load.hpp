// How each communication of a graph loads the wires, and where communications can meet.
#pragma once

#include <compare>
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

/// Flows that have to be shared together: what the one is given another lacks. Consecutive ones.
struct SharedPart {
  std::uint32_t first = 0, end = 0;
  double alone = 0;  // seconds of transfer, with the wires to itself
};

/// A channel on which another communication may be met, and the part that uses it.
struct MeetingChannel {
  cost::ChannelId channel = 0;
  std::uint32_t part = 0;
  auto operator<=>(const MeetingChannel&) const = default;
};

/// One communication. Flows on channels that no other one can use at the same time are private:
/// they always take `alone_private`. The others are parts that share no channels: an exchange's
/// channels, the hops of a ring.
struct CommLoad {
  double latency = 0;                   // seconds
  double alone = 0;                     // seconds of transfer, with the wires to itself
  double alone_private = 0;             // the same of the private flows only
  std::vector<SharedFlow> flows;        // the others
  std::vector<SharedPart> parts;        // of these
  std::vector<MeetingChannel> meeting;  // ascending
};

struct CommLoads {
  std::vector<CommLoad> comms;                      // by index in the graph's comms
  std::vector<std::vector<cost::ChannelId>> paths;  // distinct channel lists of shared flows
};

/// Which communications can meet where. Those of one group on one stream never meet when the
/// graph's edges put them one after the other; all others may.
CommLoads comm_loads(const strategies::TaskGraph& graph, std::span<const cost::Channel> channels);

}  // namespace tsim::sim
