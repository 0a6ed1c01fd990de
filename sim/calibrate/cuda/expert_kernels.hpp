// Kernels that bring tokens to experts and their results back.
#pragma once

#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {

/// Tokens and their copies, `top_k` of each. `places` [tokens, top_k] on the device: the row of
/// each copy; `chosen` [tokens, top_k]: its expert.
struct Routed {
  int tokens = 0, top_k = 0, experts = 0, columns = 0;
  const int *places = nullptr, *chosen = nullptr;
};

/// shares [tokens, top_k]: the chosen experts' part of the softmax of scores [tokens, experts].
void run_route(const Routed& r, const Half* scores, float* shares, cudaStream_t stream);
void run_route_back(const Routed& r, const Half* scores, const float* dshares, Half* dscores,
                    cudaStream_t stream);
/// A row for each copy.
void run_permute(const Routed& r, const Half* x, Half* rows, cudaStream_t stream);
/// The sum of each token's copies, each times its share; `shares` null: times one.
void run_combine(const Routed& r, const Half* rows, const float* shares, Half* x,
                 cudaStream_t stream);
struct CombineBack {
  const Half *dx = nullptr, *rows = nullptr;
  const float* shares = nullptr;
  Half* drows = nullptr;
  float* dshares = nullptr;
};
void run_combine_back(const Routed& r, const CombineBack& a, cudaStream_t stream);

/// Blocks [outer, inner] of `block` values become [inner, outer].
struct Blocks {
  int outer = 0, inner = 0;
  std::size_t block = 0;
};
void run_regroup(const Blocks& b, const Half* from, Half* to, cudaStream_t stream);

}  // namespace tsim::calibrate
