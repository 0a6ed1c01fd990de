// Times of two things at once, and how much each slows the other.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

/// What is enqueued as one piece: on stream i of device i.
struct Lane {
  std::function<void()> enqueue;
  std::vector<cudaStream_t> streams;
};

/// One piece again and again with the same pauses, so that clocks are the same in both.
struct Beside {
  Summary alone;
  Summary beside;  // while pieces of the other run all the time
  double slowdown() const { return beside.median / alone.median; }
};

struct Overlap {
  Summary first, second;               // alone, back to back
  Summary both;                        // started together, until both are over
  Beside first_beside, second_beside;  // how each fares
};

Overlap time_overlap(const Lane& first, const Lane& second);

/// Eight products m x n x k beside a copy of `bytes` from pinned host memory to the device.
Overlap time_beside_copy(const std::array<long, 3>& mnk, std::size_t bytes);

/// Products that a lane enqueues at once.
inline constexpr int kProducts = 8;

}  // namespace tsim::calibrate
