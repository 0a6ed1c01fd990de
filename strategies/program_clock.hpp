// When the steps of a program run that nothing else delays, and what collectives take by
// themselves.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/collective_curve.hpp"
#include "cost/topology.hpp"
#include "strategies/layout.hpp"
#include "strategies/program.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// Times of collectives with the wires to themselves, each planned once for all sizes.
class CollectiveTimes {
 public:
  explicit CollectiveTimes(cost::Router& router) : router_(router) {}
  /// Of `op` by the algorithm that `strategy` names, over `devices`.
  Seconds time(const Strategy& strategy, cost::CollectiveOp op, const std::vector<int>& devices,
               Bytes size);
  /// Of an exchange with experts whose messages are equal.
  Seconds exchange_time(const Strategy& strategy, const std::vector<int>& devices, Bytes size);
  /// A collective's time for any size; valid as long as this is.
  const cost::CollectiveCurve& curve(const Strategy& strategy, cost::CollectiveOp op,
                                     const std::vector<int>& devices);

 private:
  cost::Router& router_;
  std::map<std::pair<std::vector<int>, Bytes>, Seconds> exchanges_;
  std::map<std::tuple<cost::CollectiveOp, std::string, std::vector<int>>, cost::CollectiveCurve>
      known_;
};

/// Start and end of each step of a program, from the start of its phase.
struct StepTimes {
  std::vector<Seconds> start, end;
  Seconds exits;  // when all that ends the phase has ended
  Seconds all;    // and when all that it sends has arrived
};

class ProgramClock {
 public:
  /// `host_collective`: the host's time to issue a communication.
  ProgramClock(const Strategy& strategy, CollectiveTimes& times, Seconds host_collective)
      : strategy_(strategy), layout_(strategy), times_(times), host_collective_(host_collective) {}
  /// Of a step's communication on a rank of `stage`.
  Seconds comm_time(const Step& step, int stage);
  /// The host's to launch or issue it.
  Seconds host_time(const Step& step) const;
  StepTimes times_of(const Program& program, int stage);
  const Layout& layout() const { return layout_; }

 private:
  const Strategy& strategy_;
  Layout layout_;
  CollectiveTimes& times_;
  Seconds host_collective_;
  struct Known {
    cost::CollectiveOp op{};
    RankGroup group;
    int stage = 0;
    const cost::CollectiveCurve* curve = nullptr;
  };
  std::vector<Known> known_;  // few: a program talks to few groups
};

}  // namespace tsim::strategies
