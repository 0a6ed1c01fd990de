// 16 bytes at a time, as fp32 values.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

namespace tsim::calibrate {

template <typename T, int kCount = 16 / sizeof(T)>
struct alignas(kCount * sizeof(T)) Pack {
  static constexpr int kSize = kCount;
  T values[kSize];
};

/// Sum over the threads of a block of at most 1,024; every thread gets it.
__device__ inline float block_sum(float value) {
  __shared__ float warps[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, lanes);
  }
  __syncthreads();  // the one before may still be read
  if (threadIdx.x % 32 == 0) { warps[threadIdx.x / 32] = value; }
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0.0F;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, lanes);
  }
  return value;
}

__device__ inline float block_max(float value) {
  __shared__ float warps[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, lanes));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) { warps[threadIdx.x / 32] = value; }
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : -INFINITY;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, lanes));
  }
  return value;
}

/// Calls `body.operator()<T>()` with the type that a dtype's name means.
template <typename Body>
auto with_type(const std::string& dtype, Body&& body) {
  if (dtype == "bf16") { return body.template operator()<__nv_bfloat16>(); }
  if (dtype == "fp16") { return body.template operator()<__half>(); }
  return body.template operator()<float>();
}

}  // namespace tsim::calibrate
