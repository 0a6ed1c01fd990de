// What the makespan consists of: the chain of tasks that kept the last one waiting.
#pragma once

#include <vector>

#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// Time of the path spent in tasks of one sort.
struct PathShare {
  strategies::TaskKind kind{};
  strategies::Stream stream{};
  strategies::Phase phase{};
  Seconds time;
};

struct CriticalPath {
  std::vector<strategies::TaskId> tasks;  // in order of time
  std::vector<PathShare> shares;          // longest first; they and `gaps` sum to the makespan
  Seconds gaps;                           // waiting between tasks: 0 for what replay() returns
};

/// From the task that ended last (of several the lowest id) back through the predecessor that ended
/// last, to one without predecessors.
CriticalPath critical_path(const strategies::TaskGraph& graph, const Timeline& timeline);

}  // namespace tsim::sim
