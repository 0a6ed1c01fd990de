#include "strategies/phase_memory.hpp"

namespace tsim::strategies {
namespace {

constexpr Bytes kZero;

MemoryChange allocated(MemoryClass cls, Bytes bytes) { return {cls, bytes, kZero}; }
MemoryChange freed(MemoryClass cls, Bytes bytes) { return {cls, kZero, kZero - bytes}; }

bool makes_gradients(Which which) {
  return which == Which::first_backward || which == Which::only_backward ||
         which == Which::first_weight_grad || which == Which::only_weight_grad;
}

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
  const auto either = [](const Program& own, const Program& other) -> const Program& {
    return own.steps.empty() ? other : own;
  };
  switch (which) {
    case Which::forward: return chunk.forward;
    case Which::first_forward: return either(chunk.first_forward, chunk.forward);
    case Which::first_backward: return either(chunk.first_backward, chunk.backward);
    case Which::only_backward: return either(chunk.only_backward, chunk.last_backward);
    case Which::first_weight_grad: return either(chunk.first_weight_grad, chunk.weight_grad);
    case Which::only_weight_grad: return either(chunk.only_weight_grad, chunk.last_weight_grad);
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
    case Which::first_backward:
    case Which::only_backward:
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
    case Which::first_weight_grad:
    case Which::only_weight_grad:
      memory.last = {freed(MemoryClass::activations, chunk.weight_activations),
                     freed(MemoryClass::logits, chunk.weight_logits)};
      break;
  }
  if (makes_gradients(which)) {
    memory.last.push_back({MemoryClass::gradients, kZero, chunk.gradients});
  }
  return memory;
}

}  // namespace tsim::strategies
