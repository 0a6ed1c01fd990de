// Slow ranks as a scenario states them.
#pragma once

#include <string>
#include <vector>

#include "cost/topology.hpp"
#include "sim/input/json_reader.hpp"
#include "strategies/slowdown.hpp"

namespace tsim::sim {

/// One entry of "slow", or none of its keys when it is wrong.
struct SlowEntry {
  Place place;             // of the key that names who
  std::int64_t rank = -1;  // one of these three
  std::int64_t node = -1;
  std::string device;  // "node0/gpu3"
  double factor = 1.0;
};

struct StragglersInput {
  std::vector<SlowEntry> slow;
  strategies::Jitter jitter;
};

/// {"slow": [{"rank" | "node" | "device": ..., "factor": f}], "jitter": {"variation", "seed"}}.
StragglersInput read_stragglers(const Place& place);

/// By device, how many times as long it computes: factors of several entries multiply. Empty when
/// all are as they should be. Entries that name nobody are problems.
std::vector<double> slowdowns(const StragglersInput& input, const cost::Topology& topology);

}  // namespace tsim::sim
