// How a strategy splits layers over the tensor group.
#pragma once

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Takes "operators", "tensor_layout", "tensor_depth", "tensor_chunks"; `s` has its degrees.
void read_tensor_split(Reader& in, strategies::Strategy& s);

/// "collective": an algorithm for all operations that have it, or an object by operation.
void read_collective(const Place& place, strategies::Strategy& s);

}  // namespace tsim::sim
