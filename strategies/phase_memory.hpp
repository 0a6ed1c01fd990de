// What the phases of a chunk allocate and free.
#pragma once

#include "strategies/stage_plan.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// Phases of a chunk that a schedule can ask for; the first forward gathers what the optimizer has
/// changed, the first backward makes gradients that later ones add to, the last one fills gradient
/// buckets, and the only one does both.
enum class Which : std::uint8_t {
  forward,
  first_forward,
  backward,
  last_backward,
  input_grad,
  weight_grad,
  last_weight_grad,
  first_backward,
  only_backward,
  first_weight_grad,
  only_weight_grad
};
inline constexpr int kWhiches = 11;

const Program& program_of(const ChunkPlan& chunk, Which which);

/// Changes at the first compute step of a phase and at its last one.
struct PhaseMemory {
  MemoryEffect first, last;
};

/// Gradients that are made (ChunkPlan::gradients) are counted at the end of the first backward,
/// where as many activations as it had are gone: what lies between is no more than the larger of
/// both. A forward keeps activations (unless only forwards run) until the backward ends; of a
/// backward in two parts, the first frees what the weight gradients do not read and keeps the
/// output gradients that they do.   [arXiv:2401.10241, table 1]
PhaseMemory phase_memory(const ChunkPlan& chunk, Which which, bool training);

}  // namespace tsim::strategies
