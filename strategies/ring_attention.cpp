#include "strategies/ring_attention.hpp"

#include <algorithm>

#include "cost/roofline.hpp"

namespace tsim::strategies {
namespace {

/// Key of the exchange in flight.
constexpr int kExchange = 1;

const CoreOps* core_of(const std::vector<CoreOps>& cores, const models::Kernel& kernel) {
  const auto found = std::find_if(cores.begin(), cores.end(), [&](const CoreOps& core) {
    return std::any_of(kernel.ops.begin(), kernel.ops.end(),
                       [&core](models::OpId op) { return core.first <= op && op <= core.last; });
  });
  return found == cores.end() ? nullptr : &*found;
}

/// The piece of round `round` on the rank of `sharding`.
Piece piece_of_round(const Piece& piece, const models::Kernel& kernel, double executed, int round,
                     const RingRounds& rounds) {
  const int rank = rounds.sharding.context_rank;
  if (rank < 0 || round == 0) { return piece; }
  Piece result = piece;
  if (round > rank) {
    result.on_device = Seconds{};
    result.launches = 0;
    result.hardware_flops = Flops{};
    return result;
  }
  models::Kernel whole = kernel;
  whole.flops = (1.0 / executed) * kernel.flops;
  result.on_device = cost::kernel_time(whole, rounds.device);
  result.hardware_flops = whole.flops;
  return result;
}

}  // namespace

std::vector<Piece> ring_pieces(const Piece& piece, const models::Kernel& kernel,
                               const RingRounds& rounds) {
  const std::vector<CoreOps> cores = attention_cores(rounds.graph);
  const CoreOps* const core = core_of(cores, kernel);
  if (core == nullptr) { return {piece}; }
  const double executed = rounds.graph.ops[static_cast<std::size_t>(core->first)].executed;
  const int count = rounds.sharding.context;
  const Bytes part = 2 * core->keys;
  Communication exchange{cost::CollectiveOp::send_recv,
                         {GroupAxis::replica, count},
                         Stream::cp,
                         (rounds.backward ? 2 : 1) * part};
  std::vector<Piece> pieces;
  for (int round = 0; round < count; ++round) {
    const bool sends = round + 1 < count;
    if (sends) {
      pieces.push_back(comm_piece(PieceKind::async_comm, piece.phase, exchange, kExchange));
    }
    pieces.push_back(piece_of_round(piece, kernel, executed, round, rounds));
    if (sends) { pieces.push_back(join_piece(piece.phase, kExchange)); }
  }
  if (rounds.backward) {
    exchange.size = part;
    pieces.push_back(comm_piece(PieceKind::comm, piece.phase, exchange));
  }
  return pieces;
}

}  // namespace tsim::strategies
