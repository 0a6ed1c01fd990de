// What one rank does for one block: pieces of compute and tensor-parallel communication, and what
// it keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/device.hpp"
#include "models/kernel.hpp"
#include "models/model.hpp"
#include "strategies/piece.hpp"
#include "strategies/strategy.hpp"
#include "strategies/tensor/shard_block.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {

/// Trained weights of a block on one rank.
struct BlockWeights {
  std::int64_t own = 0;        // elements, without the tied word embedding
  std::int64_t embedding = 0;  // elements of "embedding.word", which embedding and tied head share
  int tensors = 0;             // of `own`
  std::int64_t small = 0;      // of `own`, in tensors too small to be sharded (Zero::persistence)
  std::int64_t experts = 0;    // of `own`, of experts that are spread otherwise
};

struct BlockPlan {
  std::vector<Piece> forward;
  std::vector<Piece> backward;  // recomputation first
  std::vector<Piece> again;     // that alone
  /// backward and weight_grad with kernels that add the gradients to those of earlier
  /// micro-batches; empty: products do that.
  std::vector<Piece> backward_added, weight_grad_added;
  std::vector<Piece> input_grad,
      weight_grad;           // the same in two parts, the second of which can wait
  Bytes activations;         // kept from forward to backward
  Bytes logits;              // the same, of the loss
  Bytes weight_activations;  // kept from input_grad to weight_grad: operands of weight gradients
  Bytes weight_logits;       // the same, of the loss
  Bytes forward_workspace;   // live only while it runs
  Bytes backward_workspace;  // the same, recomputed activations included
  Bytes recomputed;          // of backward_workspace, recomputed activations
  Bytes output;              // the activation that leaves it
  Bytes memory;              // an encoder's output that it reads besides
  BlockWeights weights;
  FrozenWeights frozen;
  WeightShapes shapes;  // of the trained ones, without the word embedding and such experts
  ExpertWeights experts;
  std::vector<Matrix> word_embedding;  // if there is one
  std::vector<SharedGradients> shared;
};

/// One rank's part of a block; embedding and head whole where the vocabulary is not split: all
/// tensor ranks compute the same.
ShardedBlock split_block(const models::Block& block, const TensorSplit& split,
                         const Strategy& strategy);

/// Plans a block of the sharded model. Selective recomputation drops what the attention core makes
/// and runs it again; full keeps a layer's input only and runs its forward again, communication
/// included   [arXiv:2205.05198, sec. 5]; named operators run again as remade() says.
BlockPlan plan_block(const models::Block& block, const TensorSplit& split, const Strategy& strategy,
                     const cost::Device& device);

}  // namespace tsim::strategies
