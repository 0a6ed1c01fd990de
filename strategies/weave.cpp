#include "strategies/weave.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tsim::strategies {
namespace {

/// Keys of asynchronous communications inside blocks are smaller.
constexpr int kFirstKey = 1'000'000;
constexpr int kFirstFetch = 2'000'000;
constexpr int kFirstSwap = 3'000'000;

class Weaver {
 public:
  Weaver(std::span<const WovenBlock> blocks, Phase phase, const GatherPlan& plan)
      : blocks_(blocks), phase_(phase), plan_(plan) {}

  std::vector<Piece> run() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (plan_.gathers) { gather_ahead(i); }
      if (plan_.swap == Swap::in) { bring_back(i); }
      if (plan_.swap == Swap::out && i >= 2) {
        pieces_.push_back(join_piece(phase_, kFirstSwap + static_cast<int>(i) - 2));
      }
      const std::size_t begin = pieces_.size();
      add_block(blocks_[i], handling(i));
      if (plan_.gathers) { release(i); }
      if (plan_.swap != Swap::none && blocks_[i].elsewhere.value > 0) { swap(i, begin); }
      if (plan_.flushes) {
        Piece flush;
        flush.kind = PieceKind::flush;
        flush.phase = phase_;
        pieces_.push_back(flush);
      }
    }
    return std::move(pieces_);
  }

 private:
  bool is_here(std::size_t i) const {
    return plan_.all_are_here || (i == 0 && plan_.first_is_here) || blocks_[i].sharded == 0;
  }

  Bytes held(std::size_t i) const { return blocks_[i].sharded * plan_.held; }

  Bytes of_block(std::size_t i, double bytes) const {
    return Bytes{std::llround(std::ceil(static_cast<double>(blocks_[i].sharded) * bytes))};
  }

  void fetch(std::size_t end) {
    for (; next_fetch_ < end; ++next_fetch_) {
      if (is_here(next_fetch_)) { continue; }
      Communication comm = plan_.fetch;
      comm.size = of_block(next_fetch_, plan_.fetch_bytes);
      Piece copy = comm_piece(PieceKind::async_comm, Phase::parameter_sync, comm,
                              kFirstFetch + static_cast<int>(next_fetch_));
      copy.memory = {{MemoryClass::buffers, comm.size, {}}};
      pieces_.push_back(std::move(copy));
    }
  }

  void gather_ahead(std::size_t i) {
    const std::size_t end = std::min(blocks_.size(), i + 1 + static_cast<std::size_t>(plan_.ahead));
    if (plan_.fetches) { fetch(std::min(blocks_.size(), end + 1)); }
    for (; next_ < end; ++next_) {
      if (is_here(next_)) { continue; }
      Communication comm = plan_.comm;
      comm.size = of_block(next_, plan_.wire_bytes);
      Piece gather = comm_piece(PieceKind::async_comm, Phase::parameter_sync, comm,
                                kFirstKey + static_cast<int>(next_));
      gather.memory = {{MemoryClass::buffers, held(next_), {}}};
      if (plan_.fetches) {
        gather.needs = kFirstFetch + static_cast<int>(next_);
        const Bytes fetched = of_block(next_, plan_.fetch_bytes);
        gather.memory.push_back({MemoryClass::buffers, {}, Bytes{} - fetched});
      }
      pieces_.push_back(std::move(gather));
    }
    pieces_.push_back(join_piece(phase_, kFirstKey + static_cast<int>(i)));
  }

  /// Kernels that put the block's tensors where they belong, and their gradients in a bucket.
  int handling(std::size_t i) const {
    const WovenBlock& block = blocks_[i];
    const int gathers = is_here(i) ? 0 : plan_.gather_launches * block.tensors;
    return gathers + (plan_.flushes ? plan_.send_launches * (block.tensors - block.frozen) : 0);
  }

  void add_block(const WovenBlock& block, int launches) {
    for (const Piece& piece : block.pieces) {
      pieces_.push_back(piece);
      if (block.drop_embedding) { pieces_.back().embedding_gradients = 0; }
      if (piece.kind == PieceKind::compute) { pieces_.back().hooks += std::exchange(launches, 0); }
    }
  }

  void release(std::size_t i) {
    const bool last = i + 1 == blocks_.size();
    if (blocks_[i].sharded == 0 || plan_.keeps_all || (last && plan_.keeps_last)) { return; }
    const auto computes = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                       [](const Piece& p) { return p.kind == PieceKind::compute; });
    if (computes == pieces_.rend()) { return; }
    computes->memory.push_back({MemoryClass::buffers, {}, Bytes{} - held(i)});
  }

  Piece swap_piece(std::size_t i, PieceKind kind) const {
    Communication comm = plan_.swap_copy;
    comm.size = blocks_[i].elsewhere;
    Piece copy = comm_piece(kind, Phase::transfer, comm, kFirstSwap + static_cast<int>(i));
    copy.swap = blocks_[i].number;
    return copy;
  }

  /// The next block's activations start on their way back when this block's have come.
  void bring_back(std::size_t i) {
    for (; next_swap_ < std::min(blocks_.size(), i + 2); ++next_swap_) {
      if (blocks_[next_swap_].elsewhere.value == 0) { continue; }
      Piece copy = swap_piece(next_swap_, PieceKind::async_comm);
      copy.memory = {{MemoryClass::activations, copy.comm.size, {}}};
      pieces_.push_back(std::move(copy));
    }
    pieces_.push_back(join_piece(phase_, kFirstSwap + static_cast<int>(i)));
  }

  /// Activations of block `i`, whose pieces begin at `begin`: allocated by its forward and gone
  /// when they are copied, or gone at the end of its backward.
  void swap(std::size_t i, std::size_t begin) {
    const auto computes = [](const Piece& p) { return p.kind == PieceKind::compute; };
    const Bytes bytes = blocks_[i].elsewhere;
    if (plan_.swap == Swap::in) {
      const auto last = std::find_if(pieces_.rbegin(), pieces_.rend(), computes);
      last->memory.push_back({MemoryClass::activations, {}, Bytes{} - bytes});
      return;
    }
    const auto first =
        std::find_if(pieces_.begin() + static_cast<std::ptrdiff_t>(begin), pieces_.end(), computes);
    first->memory.push_back({MemoryClass::activations, bytes, {}});
    const bool waited_for = i + 2 < blocks_.size();
    Piece copy = swap_piece(i, waited_for ? PieceKind::async_comm : PieceKind::detached_comm);
    copy.memory = {{MemoryClass::activations, {}, Bytes{} - bytes}};
    pieces_.push_back(std::move(copy));
  }

  std::span<const WovenBlock> blocks_;
  Phase phase_;
  const GatherPlan& plan_;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;  // the first block that no gather has been started for
  std::size_t next_fetch_ = 0;
  std::size_t next_swap_ = 0;
};

}  // namespace

std::vector<Piece> weave(std::span<const WovenBlock> blocks, Phase phase, const GatherPlan& plan) {
  return Weaver(blocks, phase, plan).run();
}

}  // namespace tsim::strategies
