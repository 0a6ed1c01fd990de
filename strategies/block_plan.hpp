// What one rank does for one block: pieces of compute and tensor-parallel communication, and what
// it keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/device.hpp"
#include "models/kernel.hpp"
#include "models/model.hpp"
#include "strategies/shard.hpp"
#include "strategies/strategy.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

enum class PieceKind : std::uint8_t {
  compute,     // runs after everything before it
  comm,        // the compute after it waits
  async_comm,  // starts now; the compute up to `join` goes on beside it
  join
};

struct Piece {
  PieceKind kind{};
  Phase phase{};
  // compute
  Seconds on_device;  // sum of the kernels
  int launches = 0;
  Flops model_flops;                     // forward and backward, papers' count
  Flops hardware_flops;                  // what the device executes, recomputation included
  std::int64_t gradients = 0;            // elements whose gradient is complete at its end
  std::int64_t embedding_gradients = 0;  // the same, of the word embedding that a tied head shares
  // communication
  TensorComm comm{};
  Bytes size;
};

/// Weights of a block on one rank.
struct BlockWeights {
  std::int64_t own = 0;        // elements, without the tied word embedding
  std::int64_t embedding = 0;  // elements of "embedding.word", which embedding and tied head share
};

struct BlockPlan {
  std::vector<Piece> forward;
  std::vector<Piece> backward;  // recomputation first
  std::vector<Piece> input_grad,
      weight_grad;           // the same in two parts, the second of which can wait
  Bytes activations;         // kept from forward to backward
  Bytes logits;              // the same, of the loss
  Bytes weight_activations;  // kept from input_grad to weight_grad: operands of weight gradients
  Bytes weight_logits;       // the same, of the loss
  Bytes forward_workspace;   // live only while it runs
  Bytes backward_workspace;  // the same, recomputed activations included
  Bytes output;              // the activation that leaves it
  Bytes memory;              // an encoder's output that it reads besides
  BlockWeights weights;
};

/// Plans a block of the sharded model. Selective recomputation drops what the attention core makes
/// and runs it again; full keeps a layer's input only and runs its forward again, communication
/// included.   [arXiv:2205.05198, sec. 5]
BlockPlan plan_block(const models::Block& block, const Sharding& sharding, const Strategy& strategy,
                     const cost::Device& device);

}  // namespace tsim::strategies
