#include "strategies/weave.hpp"

#include <algorithm>
#include <cmath>

namespace tsim::strategies {
namespace {

/// Keys of asynchronous communications inside blocks are smaller.
constexpr int kFirstKey = 1'000'000;

class Weaver {
 public:
  Weaver(std::span<const WovenBlock> blocks, Phase phase, const GatherPlan& plan)
      : blocks_(blocks), phase_(phase), plan_(plan) {}

  std::vector<Piece> run() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (plan_.gathers) { gather_ahead(i); }
      add_block(blocks_[i]);
      if (plan_.gathers) { release(i); }
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

  void gather_ahead(std::size_t i) {
    const std::size_t end = std::min(blocks_.size(), i + 1 + static_cast<std::size_t>(plan_.ahead));
    for (; next_ < end; ++next_) {
      if (is_here(next_)) { continue; }
      Communication comm = plan_.comm;
      comm.size = Bytes{
          std::llround(std::ceil(static_cast<double>(blocks_[next_].sharded) * plan_.wire_bytes))};
      Piece gather = comm_piece(PieceKind::async_comm, Phase::parameter_sync, comm,
                                kFirstKey + static_cast<int>(next_));
      gather.memory = {{MemoryClass::buffers, held(next_), {}}};
      pieces_.push_back(std::move(gather));
    }
    pieces_.push_back(join_piece(phase_, kFirstKey + static_cast<int>(i)));
  }

  void add_block(const WovenBlock& block) {
    for (const Piece& piece : *block.pieces) {
      pieces_.push_back(piece);
      if (block.drop_embedding) { pieces_.back().embedding_gradients = 0; }
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

  std::span<const WovenBlock> blocks_;
  Phase phase_;
  const GatherPlan& plan_;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;  // the first block that no gather has been started for
};

}  // namespace

std::vector<Piece> weave(std::span<const WovenBlock> blocks, Phase phase, const GatherPlan& plan) {
  return Weaver(blocks, phase, plan).run();
}

}  // namespace tsim::strategies
