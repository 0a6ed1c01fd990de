// One rank's part of a block, whichever way the tensor group splits it.
#pragma once

#include "models/model.hpp"
#include "strategies/shard.hpp"
#include "strategies/strategy.hpp"
#include "strategies/tensor/sharded_block.hpp"

namespace tsim::strategies {

/// A strategy's split of all blocks of a model.
struct TensorSplit {
  Sharding sharding;
  OperatorCuts cuts;    // if there are any, the others follow Megatron's rule
  TensorLayout stream;  // between blocks, with cuts
  TensorGrid grid;      // or a grid
};
ExpertSharding expert_sharding(const Strategy& strategy);
/// `context_rank`: whose split, where context ranks have unequal work; else -1.
TensorSplit tensor_split(const models::Model& model, const Strategy& strategy,
                         int context_rank = -1);

/// `graph` on one rank: on a grid, operator by operator, or by Megatron's rule.
ShardedBlock shard_block(const models::OpGraph& graph, const TensorSplit& split);

}  // namespace tsim::strategies
