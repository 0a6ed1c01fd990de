// Expansions of single algorithms; their declarations, for expand.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cost/programs/program.hpp"

namespace tsim::cost {

using Expansion = CollectiveProgram(CollectiveOp op, int ranks, int pieces);
Expansion halving_doubling, halving, doubling, bruck;  // expand_powers.cpp
Expansion bruck_exchange, star_of_all, reduce_broadcast;

/// Builds programs of rounds, in which ranks do one exchange after the other: a step waits for all
/// that came into or left either of its ranks in earlier rounds, besides the data that it needs.
class RoundsBuilder {
 public:
  RoundsBuilder(std::string name, CollectiveOp op, int ranks, int chunks, int scratch = 0)
      : builder_(std::move(name), op, ranks, chunks, scratch) {}
  void add(const Step& step) {
    builder_.add(step);
    rounds_.push_back(round_);
  }
  void next_round() { ++round_; }
  CollectiveProgram finish() &&;

 private:
  ProgramBuilder builder_;
  std::vector<int> rounds_;  // by step
  int round_ = 0;
};

/// The second program's first steps wait for all of the first one's; both have the same chunks.
/// The result is a program for `op`.
CollectiveProgram one_after_the_other(CollectiveOp op, const CollectiveProgram& first,
                                      const CollectiveProgram& second);

}  // namespace tsim::cost
