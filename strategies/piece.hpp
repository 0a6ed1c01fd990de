// What one rank does for a part of the model, as a list of kernels and communications.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"
#include "strategies/rank_group.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

enum class PieceKind : std::uint8_t {
  compute,        // runs after everything before it
  comm,           // the compute after it waits
  async_comm,     // starts now; the compute up to the `join` with its key goes on beside it
  join,           // waits for the asynchronous communications with its key
  detached_comm,  // starts now; nothing in this phase waits for it
  flush           // the gradients so far are sent, however full the bucket is
};

struct Piece {
  PieceKind kind{};
  Phase phase{};
  int key = 0;    // of async_comm and join
  int needs = 0;  // != 0: asynchronous communications with this key, which it waits for besides
  // compute
  Seconds on_device;  // sum of the kernels
  int launches = 0;
  int hooks = 0;                         // launches of a framework's hooks, beside the kernels
  Flops model_flops;                     // forward and backward, papers' count
  Flops hardware_flops;                  // what the device executes, recomputation included
  std::int64_t gradients = 0;            // elements whose gradient is complete at its end
  std::int64_t embedding_gradients = 0;  // the same, of the word embedding that a tied head shares
  std::int64_t expert_gradients = 0;     // the same, of experts that are spread otherwise
  // communication
  Communication comm;
  int swap = 0;  // != 0: it moves activations of so numbered block of the chunk
  // at its start and at its end; pieces that are joined into a step add them up
  MemoryEffect memory;
};

Piece comm_piece(PieceKind kind, Phase phase, const Communication& comm, int key = 0);
Piece join_piece(Phase phase, int key = 0);

}  // namespace tsim::strategies
