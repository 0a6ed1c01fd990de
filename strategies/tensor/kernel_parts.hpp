// A kernel in parts, whose communication runs beside the products of other parts.
#pragma once

#include <vector>

#include "cost/device.hpp"
#include "models/kernel.hpp"
#include "strategies/piece.hpp"
#include "strategies/tensor/sharded_block.hpp"

namespace tsim::strategies {

/// Kernels that together do what one does, each with what it waits for and what it makes ready.
struct KernelParts {
  std::vector<models::Kernel> kernels;
  std::vector<std::vector<Communication>> before, after;  // by part
  std::vector<Communication> first, last;                 // before and after all parts
};

/// The same as a step of a program.
Communication over_run(const ShardComm& comm);

/// What a kernel's operators communicate.
struct KernelComms {
  std::vector<Communication> before, after;
  const PanelledProduct* panels = nullptr;  // none: the product is no SUMMA
};

/// In how many chunks a product runs whose operand is gathered or whose result is added up, and the
/// bytes of its weight, which every chunk reads.
struct Chunking {
  int count = 1;
  Bytes weight;
};

/// SUMMA: one part for each panel. Otherwise a product with an all-gather before it, or a
/// reduce-scatter or all-reduce after it, in `chunking.count` parts of its rows, each with as much
/// of the communication; a smaller product costs what a smaller product costs. Any other kernel
/// stays whole.   [arXiv:2104.05343, alg. 1-3; Wang et al., ASPLOS 2023, sec. 3]
KernelParts kernel_parts(const models::Kernel& kernel, const KernelComms& comms,
                         const Chunking& chunking);

/// One kernel as a piece.
Piece kernel_piece(const models::Kernel& kernel, const cost::Device& device, Phase phase);

/// How parts become pieces of a program.
struct PartRules {
  Phase phase{};
  Flops model_flops{};  // of all parts
  int beside = -1;      // what follows the last part goes on under this key; -1: it is waited for
};

/// The first part waits for its communication, the others' run beside the parts before them; what
/// follows a part runs beside the parts after it.
std::vector<Piece> pieces_of(const KernelParts& parts, const PartRules& rules,
                             const cost::Device& device);

}  // namespace tsim::strategies
