// The wires as SimGrid flows: bandwidth is shared max-min between those that meet on a channel.
#pragma once

#include <memory>
#include <span>

#include "cost/topology.hpp"
#include "sim/network.hpp"

namespace tsim::sim {

/// SimGrid's engine is one for the whole process: a second object while one lives is a logic_error.
/// Objects may follow each other, but SimGrid's clock goes on, so that later runs round differently
/// in the last digits; simulate() gives each run a fresh engine.
/// Between two flows of one channel the share is even, whatever communications they belong to.
class SimGridNetwork final : public Network {
 public:
  /// Both must outlive the object. Every used channel has a bandwidth > 0.
  SimGridNetwork(const strategies::TaskGraph& graph, std::span<const cost::Channel> channels);
  ~SimGridNetwork() override;
  void on_done(Done done) override;
  Seconds now() const override;
  void start_wait(Seconds duration, strategies::TaskId task) override;
  void start_comm(std::uint32_t comm, strategies::TaskId task) override;
  void run() override;
  /// Flows that had to be handed to SimGrid because they met others; the rest were timers.
  std::uint64_t flows_shared() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tsim::sim
