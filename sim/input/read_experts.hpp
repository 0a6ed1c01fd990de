// How a scenario spreads experts: the degrees, and the object strategy.moe.
#pragma once

#include <filesystem>

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Reads "expert", "expert_tensor" and "moe" of a strategy.
/// Files are relative to `folder`.
void read_experts(Reader& in, const std::filesystem::path& folder, strategies::Strategy& strategy);

}  // namespace tsim::sim
