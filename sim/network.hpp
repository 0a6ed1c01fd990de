// The clock and the wires: what a task graph is replayed on.
#pragma once

#include <functional>

#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// Runs waits and communications and tells when each is over. The one virtual interface of tsim:
/// SimGrid (bandwidth shared between flows) and ideal (each flow as if it were alone) behind it.
class Network {
 public:
  using Done = std::function<void(strategies::TaskId)>;
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Called once for every ended task, at its end time; may start further ones.
  virtual void on_done(Done done) = 0;
  virtual Seconds now() const = 0;
  /// `task` ends `duration` from now.
  virtual void start_wait(Seconds duration, strategies::TaskId task) = 0;
  /// `task` ends when communication `comm` (an index in the graph's comms) has moved its bytes.
  virtual void start_comm(std::uint32_t comm, strategies::TaskId task) = 0;
  /// Advances the clock until nothing is left to do.
  virtual void run() = 0;
};

}  // namespace tsim::sim
