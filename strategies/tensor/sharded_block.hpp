// One rank's part of a block, with the communication that the way it is cut makes necessary.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/tuning.hpp"
#include "models/op_graph.hpp"
#include "strategies/rank_group.hpp"
#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::strategies {

/// A collective of a run of the tensor group, or of context ranks, that an operator needs. `size`
/// is the buffer as cost::plan_collective counts it.
struct ShardComm {
  models::OpId op = 0;
  cost::CollectiveOp kind{};
  RankRun ranks{};
  Bytes size;
  GroupAxis axis = GroupAxis::tensor;  // replica: of context ranks; plane: of experts' ranks
  int layer = 0, root = 0;             // as Communication's
  bool operator==(const ShardComm&) const = default;
};

/// Elements of a rank's weights whose gradients are summands: the ranks of each run add them up
/// once an iteration.
struct SharedGradients {
  RankRun ranks{};
  std::int64_t elements = 0;
  bool operator==(const SharedGradients&) const = default;
};

/// A product in steps, one for each panel of an operand: before a step's product come the
/// broadcasts of its panels, after it the sums of what it made.
struct PanelledProduct {
  models::OpId op = 0;
  int panels = 1;
  std::vector<ShardComm> before, after;  // of every panel
};

struct ShardedBlock {
  models::OpGraph graph;
  std::vector<ShardComm> before_forward, after_forward;
  std::vector<ShardComm> before_backward, after_backward_input;
  std::vector<SharedGradients> shared;
  std::vector<int> repeats;  // by operator: ranks that compute the same
  std::vector<PanelledProduct> forward_panels, input_panels, weight_panels;
};

}  // namespace tsim::strategies
