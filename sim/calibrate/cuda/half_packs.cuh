// Eight bf16 values at a time, a thread each.
#pragma once

#include "sim/calibrate/cuda/pack.cuh"
#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {

using Wide = Pack<Half>;
constexpr int kWide = Wide::kSize;

__device__ inline Wide load(const Half* at, std::size_t pack) {
  return reinterpret_cast<const Wide*>(at)[pack];
}

__device__ inline void store(Half* at, std::size_t pack, const Wide& value) {
  reinterpret_cast<Wide*>(at)[pack] = value;
}

__device__ inline std::size_t index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

inline unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + 255) / 256);
}

}  // namespace tsim::calibrate
