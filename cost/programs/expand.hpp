// The planner's algorithms as programs.
#pragma once

#include "cost/programs/program.hpp"

namespace tsim::cost {

/// Whether expand() knows the algorithm.
bool has_program(CollectiveOp op, std::string_view algorithm);

/// The steps of `algorithm` over `ranks` ranks. Rings and trees cut what goes over each hop in
/// `pieces` that follow one another. has_program(op, algorithm), ranks >= 1, pieces >= 1.
CollectiveProgram expand(CollectiveOp op, std::string_view algorithm, int ranks, int pieces = 1);

/// Rings in given orders side by side, each for an equal part of the buffer. All-reduce,
/// reduce-scatter or all-gather.
CollectiveProgram ring_program(CollectiveOp op, std::span<const std::vector<int>> rings);

/// All-reduce along the dimensions of a grid, the first one varying fastest with the rank:
/// reduce-scatter along each in turn, then all-gather back.
CollectiveProgram grid_program(std::span<const int> sizes);

}  // namespace tsim::cost
