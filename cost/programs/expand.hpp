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

/// Broadcast or reduce along chains from, or to, the first rank of each order side by side, each
/// for an equal part of the buffer in `pieces` that follow one another.
CollectiveProgram chain_program(CollectiveOp op, std::span<const std::vector<int>> orders,
                                int pieces = 1);

/// All-reduce, broadcast or reduce along trees side by side, given by their parents (-1 at the
/// root), each for an equal part of the buffer in `pieces` that follow one another. A rooted
/// collective's rank 0 hands what is its to the root of a tree that has another one, or gets it.
CollectiveProgram tree_program(CollectiveOp op, std::span<const std::vector<int>> parents,
                               int pieces = 1);

/// All-reduce along the dimensions of a grid, the first one varying fastest with the rank:
/// reduce-scatter along each in turn, then all-gather back, for `pieces` of the buffer that do not
/// wait for each other.
CollectiveProgram grid_program(std::span<const int> sizes, int pieces = 1);

/// Pieces of a buffer that go along a grid without waiting for each other; every other one the
/// other way round, if wanted.
struct GridShape {
  int pieces = 1;
  bool both_ways = false;
};

/// The same for an all-reduce, or one half of it for a reduce-scatter or an all-gather.
CollectiveProgram grid_program(CollectiveOp op, std::span<const int> sizes, GridShape shape);

}  // namespace tsim::cost
