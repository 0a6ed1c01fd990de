// Runs a task graph on a network: the event loop's logic, without its clock.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/network.hpp"
#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// A graph in which tasks wait for each other in a circle, or for one that never runs.
class Stuck : public std::runtime_error {
 public:
  struct Wait {
    std::int32_t rank = 0;             // simulated rank
    strategies::TaskId task = 0;       // the first one that it cannot start
    strategies::TaskId waits_for = 0;  // an unfinished predecessor
  };
  Stuck(std::vector<Wait> waiting, const std::string& message)
      : std::runtime_error(message), waits(std::move(waiting)) {}
  std::vector<Wait> waits;  // one for each rank that waits
};

/// Every task starts exactly when its last predecessor has ended. Throws Stuck when some task never
/// can. The clock of `network` must not have run before.
Timeline replay(const strategies::TaskGraph& graph, Network& network);

/// The two halves of replay(): the run, after which tasks that never started have NaN times; and
/// the check that all ran, with what follows from their times.
Timeline run_tasks(const strategies::TaskGraph& graph, Network& network);
void finish(const strategies::TaskGraph& graph, Timeline& timeline);

/// A task in words: "backward of layers 0-3, micro-batch 2, stage 1, rank 4".
std::string describe(const strategies::TaskGraph& graph, strategies::TaskId task);

/// Who waits for what, given the tasks that have ended (the others have a NaN end).
Stuck explain_stuck(const strategies::TaskGraph& graph, std::span<const double> end);

}  // namespace tsim::sim
