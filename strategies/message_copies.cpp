#include "strategies/message_copies.hpp"

namespace tsim::strategies {
namespace {

constexpr int kCopies = 2;

bool is_exchange(const Piece& piece) {
  return (piece.kind == PieceKind::comm || piece.kind == PieceKind::async_comm) &&
         piece.comm.stream == Stream::ep && piece.comm.op == cost::CollectiveOp::all_to_all;
}

/// Every copy reads and writes all rows.
Piece copies_before(const Piece& exchange, const cost::Device& device) {
  Piece copies;
  copies.kind = PieceKind::compute;
  copies.phase = exchange.phase;
  copies.launches = kCopies;
  const Bytes moved = 2 * exchange.comm.size;
  const Seconds once = moved / (device.elementwise_bandwidth * device.memory_bandwidth);
  copies.on_device = static_cast<double>(kCopies) * (once + device.launch);
  return copies;
}

}  // namespace

std::vector<Piece> with_message_copies(std::vector<Piece> pieces, const Strategy& strategy,
                                       const cost::Device& device) {
  const ExpertParallel& experts = strategy.experts;
  if (experts.dispatch != Dispatch::two_level || experts.nodes < 2) { return pieces; }
  std::vector<Piece> result;
  result.reserve(2 * pieces.size());
  for (const Piece& piece : pieces) {
    if (is_exchange(piece)) { result.push_back(copies_before(piece, device)); }
    result.push_back(piece);
  }
  return result;
}

}  // namespace tsim::strategies
