#include "strategies/phase_memory.hpp"

namespace tsim::strategies {
namespace {

constexpr Bytes kZero;

MemoryChange allocated(MemoryClass cls, Bytes bytes) { return {cls, bytes, kZero}; }
MemoryChange freed(MemoryClass cls, Bytes bytes) { return {cls, kZero, kZero - bytes}; }

/// From `before` bytes to `after`: growth at the start, the rest freed at the end.
void change(MemoryClass cls, Bytes before, Bytes after, PhaseMemory& memory) {
  if (after > before) {
    memory.first.push_back(allocated(cls, after - before));
  } else {
    memory.last.push_back(freed(cls, before - after));
  }
}

}  // namespace

const Program& program_of(const ChunkPlan& chunk, Which which) {
  switch (which) {
    case Which::forward: return chunk.forward;
    case Which::first_forward:
      return chunk.first_forward.steps.empty() ? chunk.forward : chunk.first_forward;
    case Which::backward: return chunk.backward;
    case Which::last_backward: return chunk.last_backward;
    case Which::input_grad: return chunk.input_grad;
    case Which::weight_grad: return chunk.weight_grad;
    case Which::last_weight_grad: return chunk.last_weight_grad;
  }
  return chunk.forward;
}

PhaseMemory phase_memory(const ChunkPlan& chunk, Which which, bool training) {
  PhaseMemory memory;
  switch (which) {
    case Which::forward:
    case Which::first_forward:
      memory.first = {allocated(MemoryClass::activations, training ? chunk.activations : kZero),
                      allocated(MemoryClass::logits, training ? chunk.logits : kZero),
                      allocated(MemoryClass::workspace, chunk.forward_workspace)};
      memory.last = {freed(MemoryClass::workspace, chunk.forward_workspace)};
      break;
    case Which::backward:
    case Which::last_backward:
      memory.first = {allocated(MemoryClass::workspace, chunk.backward_workspace)};
      memory.last = {freed(MemoryClass::workspace, chunk.backward_workspace),
                     freed(MemoryClass::activations, chunk.activations),
                     freed(MemoryClass::logits, chunk.logits)};
      break;
    case Which::input_grad:
      memory.first = {allocated(MemoryClass::workspace, chunk.backward_workspace)};
      memory.last = {freed(MemoryClass::workspace, chunk.backward_workspace)};
      change(MemoryClass::activations, chunk.activations, chunk.weight_activations, memory);
      change(MemoryClass::logits, chunk.logits, chunk.weight_logits, memory);
      break;
    case Which::weight_grad:
    case Which::last_weight_grad:
      memory.last = {freed(MemoryClass::activations, chunk.weight_activations),
                     freed(MemoryClass::logits, chunk.weight_logits)};
      break;
  }
  return memory;
}

}  // namespace tsim::strategies
