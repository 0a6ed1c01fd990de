// Measured figures of communication libraries, known by name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cost/tuning.hpp"

namespace tsim::cost {

/// All of them; each with what it was fitted to. Shares refer to links of signalling rate (A100
/// 300 GB/s, H100 and H200 450 GB/s each way; of V100 22.55 GB/s a lane) and steps to NVLink paths
/// of 0.5 us: a cluster that uses a tuning states its links so.
std::span<const Tuning> tunings();

/// The tuning called `name` (exact), if there is one.
std::optional<Tuning> tuning_named(std::string_view name);

}  // namespace tsim::cost
