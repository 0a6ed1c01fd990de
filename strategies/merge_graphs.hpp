// Task graphs of jobs that run at the same time, as one.
#pragma once

#include <span>
#include <vector>

#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// A job's graph, and where its devices are: what it calls device d is devices[d].
struct PlacedGraph {
  const TaskGraph* graph = nullptr;
  std::vector<int> devices;
};

/// All tasks of all jobs, one job's after the other's, with nothing between them.
TaskGraph merge_graphs(std::span<const PlacedGraph> jobs);

}  // namespace tsim::strategies
