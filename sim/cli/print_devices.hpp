// The list of devices known by name.
#pragma once

#include <iosfwd>
#include <span>

#include "cost/device.hpp"

namespace tsim::cli {

void print_devices_text(std::span<const cost::Device> devices, std::ostream& out);

/// {"version": 1, "devices": [{"name": ..., "memory_bytes": ..., "peaks": {...}}, ...]}; sizes in
/// bytes, rates in bytes/s and FLOP/s, times in seconds.
void print_devices_json(std::span<const cost::Device> devices, std::ostream& out);

}  // namespace tsim::cli
