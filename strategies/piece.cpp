#include "strategies/piece.hpp"

namespace tsim::strategies {

Piece comm_piece(PieceKind kind, Phase phase, const Communication& comm, int key) {
  Piece piece;
  piece.kind = kind;
  piece.phase = phase;
  piece.key = key;
  piece.comm = comm;
  return piece;
}

Piece join_piece(Phase phase, int key) {
  Piece piece;
  piece.kind = PieceKind::join;
  piece.phase = phase;
  piece.key = key;
  return piece;
}

}  // namespace tsim::strategies
