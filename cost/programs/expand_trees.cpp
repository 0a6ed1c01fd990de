// Programs of trees.
#include <algorithm>
#include <cassert>
#include <utility>

#include "cost/collectives/tree_shape.hpp"
#include "cost/programs/expand.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// One chunk's way up and down a tree.
class Climb {
 public:
  Climb(ProgramBuilder& builder, const std::vector<int>& parent, int chunk, int tree)
      : builder_(builder),
        parent_(parent),
        from_root_(collectives::from_root(parent)),
        chunk_(chunk),
        channel_(static_cast<std::uint8_t>(tree)) {}

  int root() const { return from_root_.front(); }

  void up() {
    std::for_each(from_root_.rbegin(), from_root_.rend(), [&](int r) {
      if (parent_[index(r)] >= 0) { hand(r, parent_[index(r)], true); }
    });
  }

  void down() {
    for (const int r : from_root_) {
      if (parent_[index(r)] >= 0) { hand(parent_[index(r)], r, false); }
    }
  }

  void hand(int from, int to, bool reduce) {
    builder_.add({.from = from,
                  .to = to,
                  .source = chunk_,
                  .target = chunk_,
                  .reduce = reduce,
                  .channel = channel_});
  }

 private:
  ProgramBuilder& builder_;
  const std::vector<int>& parent_;
  std::vector<int> from_root_;
  int chunk_;
  std::uint8_t channel_;
};

}  // namespace

CollectiveProgram tree_program(CollectiveOp op, std::span<const std::vector<int>> parents,
                               int pieces) {
  assert(!parents.empty() && pieces >= 1);
  const int trees = static_cast<int>(parents.size());
  ProgramBuilder builder("tree", op, static_cast<int>(parents[0].size()), trees * pieces);
  for (int c = 0; c < trees * pieces; ++c) {
    Climb climb(builder, parents[index(c % trees)], c, c % trees);
    const bool elsewhere = climb.root() != 0;
    if (op == CollectiveOp::broadcast && elsewhere) { climb.hand(0, climb.root(), false); }
    if (op != CollectiveOp::broadcast) { climb.up(); }
    if (op != CollectiveOp::reduce) { climb.down(); }
    if (op == CollectiveOp::reduce && elsewhere) { climb.hand(climb.root(), 0, false); }
  }
  return std::move(builder).finish();
}

}  // namespace tsim::cost
