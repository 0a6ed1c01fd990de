// Rings side by side that are images of each other: one of them, with the loads of all.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/steps/step_comm.hpp"

namespace tsim::sim {

/// What a ring collective costs a library, and how much it moves.
struct RingRequest {
  cost::CollectiveOp op{};  // all_reduce, reduce_scatter or all_gather
  std::span<const int> devices;
  Bytes payload;
  cost::StepCosts costs{};
};

/// The first of several rings. Channels that the images of a hop cross are one class; a class has
/// the rate of one of its channels, and a hop lists it as often as its images cross each of them.
struct FoldedRings {
  StepComm comm;                        // its paths are of classes
  std::vector<cost::Channel> classes;   // by class
  std::vector<std::uint32_t> class_of;  // by channel of the topology; kNoClass: not used
  static constexpr std::uint32_t kNoClass = 0xffffffffU;
};

/// Folds when the i-th hops of all rings have paths of the same rates and latencies, and load every
/// channel of a class equally often. Max-min shares of the images are then the same at every
/// moment, as are their times. None otherwise, or where there is one ring only.
std::optional<FoldedRings> fold_rings(const RingRequest& request,
                                      std::span<const std::vector<int>> orders,
                                      cost::Router& router);

}  // namespace tsim::sim
