// A model operator by operator: parameters, work, traffic, what is kept.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/kernel.hpp"
#include "models/model.hpp"

namespace tsim::models {

/// One forward kernel of a block and the backward kernels of the same operators. The kernels are
/// those of one copy of the block: their times are for the caller to add.
struct KernelRow {
  std::string name;  // "attention.qkv", or of a fused kernel "mlp.fc1_bias + mlp.activation"
  OpKind kind{};
  OpClass cls{};
  Part part{};
  std::int64_t parameters = 0;  // a tied weight counts where it appears first in the model
  Bytes saved{};                // kept for the backward, each tensor at its first user
  std::vector<Kernel> forward;
  std::vector<Kernel> backward;
};
Flops flops(const std::vector<Kernel>& kernels);
Bytes bytes(const std::vector<Kernel>& kernels);

struct BlockRow {
  BlockKind kind{};
  std::string name;
  int count = 1;  // consecutive copies; the rows are of one
  std::vector<KernelRow> kernels;
};

/// Work of one class of operators in a whole forward and backward pass of one micro-batch.
struct ClassShare {
  OpClass cls{};
  std::int64_t kernels = 0;
  Flops flops{};
  Bytes bytes{};
  double flops_share = 0;  // of all classes, 0 to 1
  double bytes_share = 0;
};

struct Explanation {
  std::vector<BlockRow> blocks;
  std::array<ClassShare, 3> classes;  // in the order of OpClass
  std::int64_t parameters = 0;
  std::int64_t trained_parameters = 0;
  std::int64_t active_parameters = 0;  // that one token meets
  Flops model_flops;                   // forward, contractions only
  Flops training_flops;                // of a training step, the same
  Bytes saved;                         // by all blocks, for one micro-batch
};

/// What `model` does with its operators joined as `fusion` says.
Explanation explain(const Model& model, Fusion fusion);

}  // namespace tsim::models
