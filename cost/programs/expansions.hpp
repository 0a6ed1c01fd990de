// Expansions of single algorithms; their declarations, for expand.cpp.
#pragma once

#include "cost/programs/program.hpp"

namespace tsim::cost {

using Expansion = CollectiveProgram(CollectiveOp op, int ranks, int pieces);
Expansion halving, doubling;  // expand_powers.cpp
Expansion bruck_exchange, star_of_all, reduce_broadcast;

/// The second program's first steps wait for all of the first one's; both have the same chunks.
/// The result is a program for `op`.
CollectiveProgram one_after_the_other(CollectiveOp op, const CollectiveProgram& first,
                                      const CollectiveProgram& second);

}  // namespace tsim::cost
