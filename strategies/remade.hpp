// Which operators of a block run again in its backward, and what is then not kept.
#pragma once

#include <vector>

#include "models/kernel.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// What of a sharded block runs again.
struct Remade {
  std::vector<bool> runs_again;              // by operator
  std::vector<models::TensorId> kept;        // from forward to backward
  std::vector<models::TensorId> made_again;  // kept otherwise
};

/// What `recompute` says of a block; `operators` are names, parts or kinds, and casts, rotations,
/// reshapes and biases of what these make go with them. An operator runs again if its result would
/// be kept or another one that runs again needs it; what such operators read and nothing makes
/// again is kept.
Remade remade(const models::OpGraph& graph, Recompute recompute, const Strategy& strategy);

/// The kernels that run an operator which runs again.
std::vector<models::Kernel> kernels_again(const std::vector<models::Kernel>& forward,
                                          const Remade& remade);

}  // namespace tsim::strategies
