// Sharded parameters in a program: gathered before a block needs them, freed when it has run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/piece.hpp"

namespace tsim::strategies {

/// A block in order of execution.
struct WovenBlock {
  std::span<const Piece> pieces;
  std::int64_t sharded = 0;     // elements of its parameters that have to be gathered
  bool drop_embedding = false;  // its pieces do not complete the word embedding's gradient
  Bytes elsewhere;              // activations that leave the device until its backward
  int number = 0;               // of the block in its chunk, from 1
  int tensors = 0;              // that its sharded parameters are
  int frozen = 0;               // of the tensors, those that have no gradient
};

/// Activations that are copied out after a block's forward and back before its backward.
enum class Swap : std::uint8_t { none, out, in };

struct GatherPlan {
  Swap swap = Swap::none;
  Communication swap_copy;     // size to be set
  bool gathers = false;        // else the blocks' pieces are only joined
  Communication comm;          // size to be set
  double wire_bytes = 0;       // of an element
  bool fetches = false;        // the rank's shard is brought from the host before it is gathered
  Communication fetch;         // size to be set
  double fetch_bytes = 0;      // of an element of the whole
  Bytes held;                  // of a gathered element
  int ahead = 1;               // blocks that are gathered ahead of the one that computes
  int gather_launches = 0;     // of a gather, for each tensor
  int send_launches = 0;       // of sending gradients, for each tensor
  bool first_is_here = false;  // the first block has been gathered before
  bool all_are_here = false;   // all have
  bool keeps_last = false;     // the last block stays gathered
  bool keeps_all = false;      // all stay
  bool flushes = false;        // a block's gradients are sent when they are complete
};

/// The pieces of `blocks` one after another. The gather of a block starts when the one `ahead`
/// blocks before it starts to compute, and at the earliest when the gather before it has ended: so
/// that ahead + 1 blocks are gathered at once, as FSDP's rate limiter does [arXiv:2304.11277,
/// sec. 3.3.3 and 3.4]. The shard of a block is brought from the host one block earlier
/// [arXiv:2104.07857, sec. 6.2]. Of activations that leave the device, those of two blocks are on
/// it at a time.
std::vector<Piece> weave(std::span<const WovenBlock> blocks, Phase phase, const GatherPlan& plan);

}  // namespace tsim::strategies
