// From stage plans and a schedule to the tasks of every simulated rank.
#pragma once

#include <span>
#include <vector>

#include "cost/device.hpp"
#include "cost/topology.hpp"
#include "strategies/fold.hpp"
#include "strategies/schedule.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/strategy.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// What a rank has of its device and host.
struct RankCosts {
  Bytes reserved;               // of the device's memory: context and libraries
  Seconds host_collective;      // as in cost::Device
  double overlap_slowdown = 0;  // the same
};
RankCosts rank_costs(const cost::Device& device);

/// What a rank's kind of device changes.
struct KindPlan {
  std::vector<StagePlan> stages;  // as BuildInput's, but for the times
  RankCosts costs;
};

struct BuildInput {
  const Strategy& strategy;
  const std::vector<StagePlan>& stages;
  const cost::Topology& topology;
  cost::Router& router;
  int micro_batches = 1;  // of one pipeline; with slices, slices of all of them
  bool training = true;
  FoldedAxes folded;
  RankCosts costs;
  std::span<const KindPlan> kinds = {};  // by kind of device; none: all ranks are as `stages` and
                                         // `costs` say
  int context_variants = 1;              // entries of `kinds` for each kind of device: one for each
                                         // context rank where they differ
  /// By slice of a sample's tokens, the stages' plans of its phases; none: samples are whole.
  /// Micro-batch i is slice i modulo their number. One kind of device.
  std::span<const std::vector<StagePlan>> slices = {};
};

/// What each stage runs, in its order.
PipelineOrder iteration_order(const BuildInput& input);

/// One iteration: every phase of the schedule in its order on each rank, activations and their
/// gradients sent between stages as soon as they exist, gradient buckets reduced over the replicas
/// during the last micro-batch's backward, then the optimizer.
TaskGraph build_tasks(const BuildInput& input);

}  // namespace tsim::strategies
