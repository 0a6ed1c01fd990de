// A device: peaks, memory, and how much of them each class of kernel reaches.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/measured.hpp"
#include "models/dtype.hpp"
#include "models/units.hpp"

namespace tsim::cost {

/// Shape dependence of a matrix product's rate: the output is cut in tiles, tiles run in waves of
/// one per compute unit, and the sum over k needs `half_k` terms to reach half of the ceiling.
/// A library has kernels for smaller tiles too and takes the one that ends first. A smaller tile
/// loads more operands for each multiplication: its rate is I / (I + half_intensity) with
/// I = m n / (m + n), relative to that of the largest.
struct GemmEfficiency {
  double ceiling = 1.0;  // share of the dense peak that the largest products reach, (0, 1]
  int tile_m = 128, tile_n = 128;  // the largest tile
  double half_intensity = 0.0;     // 0: there are no smaller tiles
  int units = 1;                   // compute units (SMs, cores) that run one tile each at a time
  double half_k = 0.0;             // k at which half of the ceiling is reached
};

/// Peak dense rate of one number format. Never the figure for 2:4 sparse matrices.
struct PeakRate {
  models::DType dtype{};
  FlopsPerSecond rate;
};

struct Device {
  std::string name;         // "a100-sxm-80g", as scenarios name it
  std::string description;  // "NVIDIA A100 80GB SXM4"
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  std::vector<PeakRate> matrix_peaks;  // matrix units
  FlopsPerSecond vector_peak;          // fp32 on the vector units: element-wise and reductions
  GemmEfficiency gemm;
  double attention_ceiling = 1.0;  // share of the matrix peak inside a fused attention kernel
  double sustained = 1.0;  // share of the matrix peak that products and attention keep up for
                           // minutes, within the device's power: times of short runs below what
                           // it allows are not believed
  double elementwise_bandwidth = 1.0;    // share of memory_bandwidth, element-wise kernels
  double optimizer_bandwidth = 0.0;      // the same, an optimizer's step; 0: as element-wise
  double normalization_bandwidth = 1.0;  // the same, normalisations and softmax
  double gemm_bandwidth = 1.0;           // the same, matrix products that are bound by memory
  double sum_bandwidth = 1.0;            // the same, of what a product that adds to a sum moves
                                         // besides its result; above 1 where a part of it is hidden
  Seconds launch;       // start of a kernel on the device, not overlapped with the one before it
  Seconds host_launch;  // host time to issue one kernel: 1 / launch rate; 0 when a graph replays
  double host_backward = 1.0;   // share of it that a kernel of the backward takes
  Seconds host_collective;      // host time to issue a communication, its framework's included
  double overlap_slowdown = 0;  // a kernel takes 1 + this times as long while a collective runs
                                // beside it on the same device
  Bytes reserved;               // context and libraries: memory a program never gets
  std::string path;             // the file it was read from
  std::shared_ptr<const Measured> measured;  // what was timed on it; null: nothing
};

/// Host time to issue one kernel, of the backward or not.
Seconds host_time(const Device& device, bool backward);

/// The dense peak for `dtype`, if the device has one.
std::optional<FlopsPerSecond> peak(const Device& device, models::DType dtype);

}  // namespace tsim::cost
