// Whether a stage's layers fit in its devices' memory, before anything is simulated.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/deal.hpp"
#include "strategies/strategy.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {

/// What a layer, with the embedding before it or the head after it, adds to its stage.
struct LayerMemory {
  std::int64_t elements = 0;
  std::int64_t whole = 0;  // of these, kept on every rank whatever is sharded
  WeightShapes shapes;
  ExpertWeights experts;  // of the elements
  FrozenWeights frozen;   // besides
  Bytes activations;      // of one micro-batch, the loss's included
  Bytes workspace;        // of a phase
};

/// By stage, the most micro-batches whose activations it holds at once in the schedule's order.
std::vector<int> most_in_flight(const Strategy& strategy, int micro_batches);

/// Layers [from, to) fit on stage `part` when states, activations of all micro-batches in flight
/// and the largest workspace are at most `capacity[part]`. One chunk a stage.
Fits fits_in_memory(std::vector<LayerMemory> layers, const Strategy& strategy,
                    std::vector<int> in_flight, std::vector<Bytes> capacity);

}  // namespace tsim::strategies
