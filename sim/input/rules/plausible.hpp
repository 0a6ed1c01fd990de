// Values that are legal but look like a slip: accepted with a warning.
#pragma once

#include "models/dtype.hpp"
#include "models/units.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Warns when a peak is the figure that a vendor states for 2:1 sparse matrices.
void warn_if_sparse(const Place& place, models::DType dtype, FlopsPerSecond rate);

/// Warns when a network card is faster than any that exists; most often bytes written for bits.
void warn_if_fast_nic(const Place& place, BytesPerSecond rate);

/// Warns when a device's link inside a node is faster than any that exists.
void warn_if_fast_link(const Place& place, BytesPerSecond rate, bool pcie);

/// Warns when one crossing takes longer than a signal around the room would.
void warn_if_slow_crossing(const Place& place, Seconds latency);

}  // namespace tsim::sim
