// Exchanges with experts in parts of the tokens, each beside the experts' work on other parts.
#pragma once

#include <vector>

#include "cost/device.hpp"
#include "models/op_graph.hpp"
#include "strategies/piece.hpp"

namespace tsim::models {
struct Kernel;
}

namespace tsim::strategies {

/// Pieces of a phase, each compute piece with the kernel that it runs; null: none.
struct KernelPieces {
  std::vector<Piece> pieces;
  std::vector<const models::Kernel*> kernels;

  void add(const std::vector<Piece>& more, const models::Kernel* kernel);
};

/// Bytes of the weights that a kernel's products read.
Bytes weights_of(const models::OpGraph& graph, const models::Kernel& kernel);

/// Cuts what lies between an exchange to the experts and the one back into `parts` of the tokens:
/// all parts are sent one after another, the experts work on the first as soon as it is here, and
/// a part's results leave while they work on the next. A part of the rows costs what a product of
/// so many rows costs: it reads all weights. Gradients are complete with the last part.
///   [arXiv:2206.03382, sec. 3.3; arXiv:2201.05596, sec. 5]
void chunk_exchanges(KernelPieces& list, const models::OpGraph& graph, const cost::Device& device,
                     int parts);

}  // namespace tsim::strategies
