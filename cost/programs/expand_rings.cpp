// Programs of rings, alone and along the dimensions of a grid.
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "cost/programs/expand.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

int wrapped(int i, int n) { return (i % n + n) % n; }

/// One ring of several: its chunks are those of its number in every rank's share.
struct RingPass {
  CollectiveOp op{};
  std::span<const int> order;
  int rings = 1;
  int ring = 0;
};

/// A reduce-scatter's or an all-gather's n - 1 rounds. Position i of the ring ends the first with
/// the piece of the rank at i, and starts the second with it.
void add_rounds(ProgramBuilder& builder, const RingPass& pass, bool reduce) {
  const int n = static_cast<int>(pass.order.size());
  const Buffer all = pass.op == CollectiveOp::reduce_scatter ? Buffer::input : Buffer::output;
  for (int round = 0; round < n - 1; ++round) {
    for (int i = 0; i < n; ++i) {
      const int piece = wrapped(reduce ? i - round - 1 : i - round, n);
      const int chunk = pass.order[index(piece)] * pass.rings + pass.ring;
      Step step{.from = pass.order[index(i)], .to = pass.order[index((i + 1) % n)]};
      step.source = step.target = chunk;
      step.source_buffer = step.target_buffer = all;
      step.reduce = reduce;
      step.channel = static_cast<std::uint8_t>(pass.ring);
      builder.add(step);
    }
  }
}

/// One piece of several, and which way it goes round.
struct GridPass {
  CollectiveOp op{};
  int piece = 0, pieces = 1;
  bool backwards = false, reduce = false;
};

/// A grid's dimensions. After the reduce-scatters of dimensions 1..k a rank holds the run of chunks
/// that its places in them lead to: dimension 1 halves (thirds, ...) the buffer first.
class Grid {
 public:
  explicit Grid(std::span<const int> sizes) : sizes_(sizes), runs_{1}, strides_{1} {
    for (const int size : sizes) { strides_.push_back(strides_.back() * size); }
    runs_.assign(sizes.size() + 1, ranks());
    for (std::size_t k = 0; k < sizes.size(); ++k) { runs_[k + 1] = runs_[k] / sizes[k]; }
    owners_.resize(index(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) { owners_[index(start(rank, sizes.size()))] = rank; }
  }

  int ranks() const { return strides_.back(); }
  int place(int rank, std::size_t k) const { return rank / strides_[k] % sizes_[k]; }

  /// First chunk of what a rank holds before dimension k is scattered.
  int start(int rank, std::size_t k) const {
    int chunk = 0;
    for (std::size_t j = 0; j < k; ++j) { chunk += place(rank, j) * runs_[j + 1]; }
    return chunk;
  }

  /// Rounds along dimension k of one piece of the buffer.
  void add_rounds(ProgramBuilder& builder, std::size_t k, const GridPass& pass) const {
    const int size = sizes_[k], way = pass.backwards ? -1 : 1;
    for (int round = 0; round < size - 1; ++round) {
      for (int rank = 0; rank < ranks(); ++rank) {
        const int at = place(rank, k);
        const int part = wrapped(at - way * (pass.reduce ? round + 1 : round), size);
        const int to = rank + (wrapped(at + way, size) - at) * strides_[k];
        hand_on(builder, {rank, to}, start(rank, k) + part * runs_[k + 1], runs_[k + 1], pass);
      }
    }
  }

 private:
  /// The chunk of a pass that the grid has at `place`. In an all-reduce it lies there; in a
  /// reduce-scatter or an all-gather with its owner's others.
  int chunk_at(int place, const GridPass& pass) const {
    return pass.op == CollectiveOp::all_reduce ? pass.piece * ranks() + place
                                               : owners_[index(place)] * pass.pieces + pass.piece;
  }

  /// Chunks that lie side by side in one step.
  void hand_on(ProgramBuilder& builder, std::pair<int, int> hop, int first, int count,
               const GridPass& pass) const {
    for (int i = 0; i < count;) {
      const int chunk = chunk_at(first + i, pass);
      Step step{.from = hop.first, .to = hop.second, .source = chunk, .target = chunk, .count = 0};
      while (i < count && chunk_at(first + i, pass) == chunk + step.count) {
        ++step.count;
        ++i;
      }
      const bool in = pass.op == CollectiveOp::reduce_scatter;
      step.source_buffer = step.target_buffer = in ? Buffer::input : Buffer::output;
      step.reduce = pass.reduce;
      step.channel = pass.backwards ? 1 : 0;
      builder.add(step);
    }
  }

  std::span<const int> sizes_;
  std::vector<int> owners_;   // by chunk: the rank that holds it when all are scattered
  std::vector<int> runs_;     // by dimension: chunks held before it is scattered
  std::vector<int> strides_;  // by dimension: how far apart neighbours' ranks are
};

}  // namespace

CollectiveProgram ring_program(CollectiveOp op, std::span<const std::vector<int>> rings) {
  const int n = static_cast<int>(rings[0].size()), count = static_cast<int>(rings.size());
  ProgramBuilder builder("ring", op, n, n * count);
  for (int r = 0; r < count; ++r) {
    const RingPass pass{op, rings[index(r)], count, r};
    if (op != CollectiveOp::all_gather) { add_rounds(builder, pass, true); }
    if (op != CollectiveOp::reduce_scatter) { add_rounds(builder, pass, false); }
  }
  return std::move(builder).finish();
}

CollectiveProgram chain_program(CollectiveOp op, std::span<const std::vector<int>> orders,
                                int pieces) {
  const int n = static_cast<int>(orders[0].size()), count = static_cast<int>(orders.size());
  ProgramBuilder builder("ring", op, n, count * pieces);
  const bool reduce = op == CollectiveOp::reduce;
  for (int c = 0; c < count * pieces; ++c) {
    const std::vector<int>& order = orders[index(c % count)];
    for (int i = 0; i + 1 < n; ++i) {
      const int near = reduce ? n - 2 - i : i;
      Step step{.from = order[index(near)], .to = order[index(near + 1)], .source = c, .target = c};
      if (reduce) { std::swap(step.from, step.to); }
      step.reduce = reduce;
      step.channel = static_cast<std::uint8_t>(c % count);
      builder.add(step);
    }
  }
  return std::move(builder).finish();
}

CollectiveProgram grid_program(CollectiveOp op, std::span<const int> sizes, GridShape shape) {
  const Grid grid(sizes);
  ProgramBuilder builder("grid", op, grid.ranks(), grid.ranks() * shape.pieces);
  for (int piece = 0; piece < shape.pieces; ++piece) {
    GridPass pass{op, piece, shape.pieces, shape.both_ways && piece % 2 == 1, true};
    if (op != CollectiveOp::all_gather) {
      for (std::size_t k = 0; k < sizes.size(); ++k) { grid.add_rounds(builder, k, pass); }
    }
    pass.reduce = false;
    if (op != CollectiveOp::reduce_scatter) {
      for (std::size_t k = sizes.size(); k-- > 0;) { grid.add_rounds(builder, k, pass); }
    }
  }
  return std::move(builder).finish();
}

CollectiveProgram grid_program(std::span<const int> sizes, int pieces) {
  return grid_program(CollectiveOp::all_reduce, sizes, {pieces, false});
}

}  // namespace tsim::cost
