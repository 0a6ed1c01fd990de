#include "sim/calibrate/cuda/expert_kernels.hpp"
#include "sim/calibrate/cuda/half_packs.cuh"

namespace tsim::calibrate {
namespace {

/// A thread each token. Twice through the scores: the largest, then the sum of powers.
__device__ float softmax_sum(const Half* scores, int experts, float& most) {
  most = -INFINITY;
  for (int e = 0; e < experts; ++e) { most = fmaxf(most, static_cast<float>(scores[e])); }
  float sum = 0;
  for (int e = 0; e < experts; ++e) { sum += __expf(static_cast<float>(scores[e]) - most); }
  return sum;
}

__global__ void route_kernel(Routed r, const Half* __restrict__ scores,
                             float* __restrict__ shares) {
  const std::size_t token = index();
  if (token >= static_cast<std::size_t>(r.tokens)) { return; }
  const Half* const row = scores + token * r.experts;
  float most = 0;
  const float sum = softmax_sum(row, r.experts, most);
  for (int j = 0; j < r.top_k; ++j) {
    const int expert = r.chosen[token * r.top_k + j];
    shares[token * r.top_k + j] = __expf(static_cast<float>(row[expert]) - most) / sum;
  }
}

/// dscore_e = share_e (dshare_e - sum over the chosen of share dshare); others have no dshare.
__global__ void route_back_kernel(Routed r, const Half* __restrict__ scores,
                                  const float* __restrict__ dshares, Half* __restrict__ dscores) {
  const std::size_t token = index();
  if (token >= static_cast<std::size_t>(r.tokens)) { return; }
  const Half* const row = scores + token * r.experts;
  float most = 0;
  const float sum = softmax_sum(row, r.experts, most);
  float mean = 0;
  for (int j = 0; j < r.top_k; ++j) {
    const std::size_t at = token * r.top_k + j;
    mean += __expf(static_cast<float>(row[r.chosen[at]]) - most) / sum * dshares[at];
  }
  for (int e = 0; e < r.experts; ++e) {
    float slope = -mean;
    for (int j = 0; j < r.top_k; ++j) {
      const std::size_t at = token * r.top_k + j;
      if (r.chosen[at] == e) { slope += dshares[at]; }
    }
    dscores[token * r.experts + e] = Half(__expf(static_cast<float>(row[e]) - most) / sum * slope);
  }
}

__global__ void permute_kernel(Routed r, const Half* __restrict__ x, Half* __restrict__ rows) {
  const std::size_t p = index();
  const std::size_t row = r.columns / kWide;
  const std::size_t copy = p / row;
  if (copy >= static_cast<std::size_t>(r.tokens) * r.top_k) { return; }
  store(rows, r.places[copy] * row + p % row, load(x, copy / r.top_k * row + p % row));
}

__global__ void combine_kernel(Routed r, const Half* __restrict__ rows,
                               const float* __restrict__ shares, Half* __restrict__ x) {
  const std::size_t p = index();
  const std::size_t row = r.columns / kWide;
  const std::size_t token = p / row;
  if (token >= static_cast<std::size_t>(r.tokens)) { return; }
  float sums[kWide] = {};
  for (int j = 0; j < r.top_k; ++j) {
    const std::size_t copy = token * r.top_k + j;
    const float share = shares == nullptr ? 1.0F : shares[copy];
    const Wide in = load(rows, r.places[copy] * row + p % row);
#pragma unroll
    for (int i = 0; i < kWide; ++i) { sums[i] += share * static_cast<float>(in.values[i]); }
  }
  Wide out;
#pragma unroll
  for (int i = 0; i < kWide; ++i) { out.values[i] = Half(sums[i]); }
  store(x, p, out);
}

/// A block each copy.
__global__ void combine_back_kernel(Routed r, CombineBack a) {
  const std::size_t copy = blockIdx.x;
  const std::size_t row = r.columns / kWide;
  const std::size_t from = copy / r.top_k * row;
  const std::size_t to = r.places[copy] * row;
  const float share = a.shares[copy];
  float sum = 0;
  for (std::size_t p = threadIdx.x; p < row; p += blockDim.x) {
    const Wide dx = load(a.dx, from + p);
    const Wide y = load(a.rows, to + p);
    Wide out;
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      const float slope = static_cast<float>(dx.values[i]);
      out.values[i] = Half(share * slope);
      sum += slope * static_cast<float>(y.values[i]);
    }
    store(a.drows, to + p, out);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) { a.dshares[copy] = sum; }
}

__global__ void regroup_kernel(Blocks b, const Half* __restrict__ from, Half* __restrict__ to) {
  const std::size_t p = index();
  const std::size_t packs = b.block / kWide;
  const std::size_t block = p / packs;
  if (block >= static_cast<std::size_t>(b.outer) * b.inner) { return; }
  const std::size_t place = block % b.inner * b.outer + block / b.inner;
  store(to, place * packs + p % packs, load(from, p));
}

std::size_t copies(const Routed& r) { return static_cast<std::size_t>(r.tokens) * r.top_k; }

}  // namespace

void run_route(const Routed& r, const Half* scores, float* shares, cudaStream_t stream) {
  route_kernel<<<blocks_for(r.tokens), 256, 0, stream>>>(r, scores, shares);
  check(cudaGetLastError());
}

void run_route_back(const Routed& r, const Half* scores, const float* dshares, Half* dscores,
                    cudaStream_t stream) {
  route_back_kernel<<<blocks_for(r.tokens), 256, 0, stream>>>(r, scores, dshares, dscores);
  check(cudaGetLastError());
}

void run_permute(const Routed& r, const Half* x, Half* rows, cudaStream_t stream) {
  permute_kernel<<<blocks_for(copies(r) * r.columns / kWide), 256, 0, stream>>>(r, x, rows);
  check(cudaGetLastError());
}

void run_combine(const Routed& r, const Half* rows, const float* shares, Half* x,
                 cudaStream_t stream) {
  const std::size_t packs = static_cast<std::size_t>(r.tokens) * r.columns / kWide;
  combine_kernel<<<blocks_for(packs), 256, 0, stream>>>(r, rows, shares, x);
  check(cudaGetLastError());
}

void run_combine_back(const Routed& r, const CombineBack& a, cudaStream_t stream) {
  combine_back_kernel<<<static_cast<unsigned>(copies(r)), 128, 0, stream>>>(r, a);
  check(cudaGetLastError());
}

void run_regroup(const Blocks& b, const Half* from, Half* to, cudaStream_t stream) {
  const std::size_t packs = static_cast<std::size_t>(b.outer) * b.inner * (b.block / kWide);
  regroup_kernel<<<blocks_for(packs), 256, 0, stream>>>(b, from, to);
  check(cudaGetLastError());
}

}  // namespace tsim::calibrate
