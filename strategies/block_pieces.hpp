// The kernels of a block's phases as pieces, with the communication around them.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/device.hpp"
#include "models/kernel.hpp"
#include "strategies/piece.hpp"
#include "strategies/shard.hpp"
#include "strategies/tensor/sharded_block.hpp"

namespace tsim::strategies {

/// Everything that the piece makers read.
struct PieceContext {
  const ShardedBlock& block;
  const cost::Device& device;
  bool overlap_tensor;
  int chunks;  // of a product beside its communication
  const Sharding& sharding;
  bool experts_apart;  // experts' gradients are added up over other ranks
  int expert_chunks;   // parts of the tokens that are exchanged with experts one after another
};

/// Kernels that run one after another, in a forward or again in a backward.
std::vector<Piece> forward_pieces(const std::vector<models::Kernel>& kernels, const PieceContext& c,
                                  Phase phase);

/// What a program of the backward computes.
enum class Gradients : std::uint8_t { all, of_inputs, of_weights };

/// From the last operator to the first, those of its inputs' gradients before those of its
/// weights'.
std::vector<Piece> backward_pieces(const models::BlockKernels& kernels, const PieceContext& c,
                                   Gradients which);

bool is_word_embedding(const models::OpGraph& graph, models::TensorId id);

}  // namespace tsim::strategies
