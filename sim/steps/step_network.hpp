// The wires, every send of every communication an event.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/network.hpp"
#include "sim/steps/step_comm.hpp"

namespace tsim::sim {

/// Sends share bandwidth max-min with whatever moves bytes at the same time, steps of the same
/// communication included. An event loop of its own and not SimGrid's: a collective on a thousand
/// devices has a thousand sends in flight and millions in all, of which SimGrid ends a quarter of a
/// million a second (docs/design.md); tests compare the two. Equal inputs give equal bytes.
class StepNetwork final : public Network {
 public:
  /// `comms` by the index that start_comm() is given. Both must outlive the object; every channel
  /// that is used has a bandwidth > 0.
  StepNetwork(std::span<const StepComm> comms, std::span<const cost::Channel> channels);
  ~StepNetwork() override;
  void on_done(Done done) override;
  Seconds now() const override;
  void start_wait(Seconds duration, strategies::TaskId task) override;
  void start_comm(std::uint32_t comm, strategies::TaskId task) override;
  void run() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tsim::sim
