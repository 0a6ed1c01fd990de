// The planner's algorithms step by step, laid on given devices as the planner lays them.
#pragma once

#include <optional>

#include "cost/programs/program.hpp"

namespace tsim::cost {

/// The steps that plan_collective() adds up, rank i on devices[i]: rings in the planner's orders,
/// trees of nodes below trees of their heads, grids of nodes. What goes down trees and chains is
/// cut into pieces of 128 KiB a tree (at most 128), which follow one another; aggregated plans take
/// them as infinitely small. None where the algorithm has no steps from rank to rank (reductions
/// inside switches) or cannot run on these devices.
/// payload >= 0; devices distinct. Throws Unreachable for devices that no path joins, and
/// std::length_error for more steps than memory is likely to hold.
std::optional<CollectiveProgram> program_on(CollectiveOp op, std::string_view algorithm,
                                            std::span<const int> devices, Bytes payload,
                                            Router& router);

/// Throws std::length_error when `algorithm` has more than kMostSteps steps: rings side by side and
/// messages from all to all have about n (n - 1) each.
inline constexpr std::int64_t kMostSteps = 50'000'000;
void refuse_too_many_steps(CollectiveOp op, std::string_view algorithm, std::size_t ranks,
                           std::size_t rings);

/// Whether program_on() has steps for it.
bool has_steps(CollectiveOp op, std::string_view algorithm, std::span<const int> devices,
               Router& router);

/// The orders in which an algorithm called "ring" goes round these devices, as ranks: rings side by
/// side, each with an equal part of the buffer. Empty when a ring passes a device twice.
std::vector<std::vector<int>> ring_ranks(std::span<const int> devices, Router& router);

}  // namespace tsim::cost
