// Data parallelism through parameter servers: every worker pulls, computes and pushes at its own
// pace.
#pragma once

#include <span>
#include <vector>

#include "strategies/build_tasks.hpp"
#include "strategies/slowdown.hpp"

namespace tsim::strategies {

/// Several iterations of every worker. Clocks count a worker's iterations from 0.
struct AsyncRun {
  TaskGraph graph;
  std::vector<std::vector<TaskId>> pulled;   // by worker and clock: the parameters have arrived
  std::vector<std::vector<TaskId>> applied;  // the same: the servers have added the gradients
};

struct AsyncInput {
  const BuildInput& build;           // pipeline = tensor = 1
  std::span<const double> slowdown;  // by device; may be empty
  Jitter jitter;                     // draw c / draw 0 slows computations of clock c besides
  std::vector<Seconds> server_step;  // by server: the optimizer on its part
};

/// Parameters are cut evenly over the servers. A worker pulls for clock c when its own gradients of
/// clock c-1 have been applied and, with staleness s, when every worker's of clock c-s-1 have
/// [Ho et al., NIPS 2013, sec. 3]. With s = 0 the gradients of a clock are added up and applied at
/// once; otherwise each worker's are as they come, and a server steps the optimizer on its part for
/// each, those of several workers beside each other.
AsyncRun build_async(const AsyncInput& input);

/// Devices of the servers: those of the workers, or those that follow them.
std::vector<int> server_devices(const Strategy& strategy);

}  // namespace tsim::strategies
