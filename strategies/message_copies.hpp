// Copies that bring messages to one node together before they leave.
#pragma once

#include <vector>

#include "cost/device.hpp"
#include "strategies/piece.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// With Tutel's two-dimensional all-to-all over several nodes, `pieces` with two strided copies of
/// all rows before each exchange: by receivers' places inside nodes, and by nodes
/// [arXiv:2206.03382, sec. 3.4, alg. 3]. Elsewhere `pieces` as they are.
std::vector<Piece> with_message_copies(std::vector<Piece> pieces, const Strategy& strategy,
                                       const cost::Device& device);

}  // namespace tsim::strategies
