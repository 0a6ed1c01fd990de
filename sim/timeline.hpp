// When everything happened: the result of a replay.
#pragma once

#include <vector>

#include "models/units.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// start and end of every task of a graph, from the start of the iteration.
struct Timeline {
  std::vector<double> start;  // seconds, by task
  std::vector<double> end;
  Seconds makespan;                   // end of the last task
  std::vector<double> channel_bytes;  // moved over each channel of the topology
};

}  // namespace tsim::sim
