// A network without contention: every communication has the wires to itself.
#pragma once

#include <span>
#include <vector>

#include "cost/topology.hpp"
#include "sim/network.hpp"

namespace tsim::sim {

/// Each communication takes its latency plus transfer_alone(). `graph` and `channels` must outlive
/// the construction only.
class IdealNetwork final : public Network {
 public:
  IdealNetwork(const strategies::TaskGraph& graph, std::span<const cost::Channel> channels);
  void on_done(Done done) override { done_ = std::move(done); }
  Seconds now() const override { return {now_}; }
  void start_wait(Seconds duration, strategies::TaskId task) override;
  void start_comm(std::uint32_t comm, strategies::TaskId task) override;
  void run() override;

 private:
  struct Event {
    double time;
    std::uint64_t order;  // of events at one time: as they were started
    strategies::TaskId task;
  };
  std::vector<double> durations_;  // by communication
  std::vector<Event> heap_;
  std::uint64_t started_ = 0;
  double now_ = 0;
  Done done_;
};

}  // namespace tsim::sim
