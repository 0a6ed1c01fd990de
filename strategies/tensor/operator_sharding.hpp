// One rank's part of a block whose operators are each cut in a way of their own.
#pragma once

#include "models/model.hpp"
#include "strategies/shard.hpp"
#include "strategies/tensor/operator_cut.hpp"
#include "strategies/tensor/sharded_block.hpp"
#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::strategies {

/// The layout of what flows between blocks, [batch, sequence, hidden]: the one in which the last
/// operator of the first layer leaves it.
TensorLayout stream_layout(const models::Model& model, const Sharding& sharding,
                           const OperatorCuts& cuts);

/// `graph` as one of sharding.tensor = 2^k ranks holds it. Operators without a cut follow
/// Megatron's rule (heads, ffn and vocabulary divided; with sequence parallelism the sequence
/// elsewhere), a bias follows its product. Communication follows from the cuts:
///  - a sum over a divided axis leaves summands, which are added up into the layout that the
///    readers want (all-reduce or reduce-scatter), or all-reduced where they differ;
///  - otherwise a tensor stays where its operator makes it, and each reader has it moved to where
///    it reads it, see reshard();
///  - gradients go the way back: those of an input that lacks a divided axis of the operator are
///    summands, and those of a weight that does are SharedGradients;
///  - a normalisation over a divided axis adds up its statistics, fp32, per row.
///   [arXiv:2104.12369, sec. 4; arXiv:2105.04663, sec. 3]
ShardedBlock shard_operators(const models::OpGraph& graph, const Sharding& sharding,
                             const OperatorCuts& cuts, const TensorLayout& stream);

}  // namespace tsim::strategies
