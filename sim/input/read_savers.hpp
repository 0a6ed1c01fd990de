// Reads what a strategy does to need less device memory: recomputation, offload, tiling.
#pragma once

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Takes `recompute`, `offload`, `partition_activations`, `loss_chunks` and `tiling`.
void read_savers(Reader& in, strategies::Strategy& strategy);

}  // namespace tsim::sim
