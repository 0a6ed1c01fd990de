// What an operator graph's experts communicate.
#pragma once

#include "strategies/shard.hpp"

namespace tsim::strategies {

/// Adds the way of tokens to the experts of `sharded` and back, forward and backward. Groups of the
/// plane: etp neighbours split an expert, ep ranks with that many between them have different ones.
///  - rows go to their experts' ranks and back in an all-to-all; or all tokens are gathered before
///    the dispatch, and the ranks' partial results are added up and scattered after the combine
///  - ranks that split an expert gather each other's rows before it and add up and scatter their
///    results [Megatron-LM, core/transformer/moe/token_dispatcher.py]; where all have the same
///    tokens, results are added up after the combine instead
///  - tensor ranks without sequence parallelism that each sent a part of the tokens gather the
///    results [arXiv:2303.06318, sec. 5.1]
void add_expert_comms(const models::OpGraph& sharded, const Sharding& sharding, TensorComms& comms);

}  // namespace tsim::strategies
