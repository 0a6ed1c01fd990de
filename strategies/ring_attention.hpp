// Attention over context ranks whose keys and values go round.
#pragma once

#include <vector>

#include "cost/device.hpp"
#include "models/kernel.hpp"
#include "strategies/piece.hpp"
#include "strategies/shard.hpp"

namespace tsim::strategies {

struct RingRounds {
  const models::OpGraph& graph;  // sharded: its attention core is one round
  const Sharding& sharding;
  const cost::Device& device;
  bool backward = false;
};

/// `sharding.context` rounds of `kernel`, which `piece` is one of, beside the exchange for the next
/// one: keys and values forward, their gradients too in the backward, where each part's gradients
/// travel home at last. Under a causal mask without zigzag, rank r computes the first r + 1 rounds,
/// all but the first of them without a mask.   [arXiv:2310.01889, sec. 3; arXiv:2311.09431]
std::vector<Piece> ring_pieces(const Piece& piece, const models::Kernel& kernel,
                               const RingRounds& rounds);

}  // namespace tsim::strategies
