#include <algorithm>

#include "sim/calibrate/cuda/half_packs.cuh"
#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {
namespace {

constexpr float kSlope = 0.7978845608F;  // sqrt(2 / pi)

__device__ float gelu(float x) {
  return 0.5F * x * (1.0F + tanhf(kSlope * (x + 0.044715F * x * x * x)));
}

__device__ float gelu_slope(float x) {
  const float t = tanhf(kSlope * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * kSlope * (1.0F + 0.134145F * x * x);
}

__global__ void bias_gelu_kernel(const Half* __restrict__ x, const Half* __restrict__ bias,
                                 Half* __restrict__ y, std::size_t packs, int row) {
  const std::size_t p = index();
  if (p >= packs) { return; }
  const Wide in = load(x, p);
  const Wide b = load(bias, p % row);
  Wide out;
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    out.values[j] = Half(gelu(static_cast<float>(in.values[j]) + static_cast<float>(b.values[j])));
  }
  store(y, p, out);
}

__global__ void gelu_back_kernel(GeluBack a, std::size_t packs, int row) {
  const std::size_t p = index();
  if (p >= packs) { return; }
  const Wide in = load(a.x, p);
  const Wide b = load(a.bias, p % row);
  const Wide dy = load(a.dy, p);
  Wide out;
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    const float x = static_cast<float>(in.values[j]) + static_cast<float>(b.values[j]);
    out.values[j] = Half(static_cast<float>(dy.values[j]) * gelu_slope(x));
  }
  store(a.dx, p, out);
}

__global__ void bias_add_kernel(BiasAdd a, std::size_t packs, int row) {
  const std::size_t p = index();
  if (p >= packs) { return; }
  const Wide in = load(a.x, p);
  const Wide residual = load(a.residual, p);
  Wide b{};
  if (a.bias != nullptr) { b = load(a.bias, p % row); }
  Wide out;
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    const float bias = a.bias != nullptr ? static_cast<float>(b.values[j]) : 0.0F;
    out.values[j] =
        Half(static_cast<float>(in.values[j]) + static_cast<float>(residual.values[j]) + bias);
  }
  store(a.y, p, out);
}

constexpr int kParts = 128;  // that share the rows of a column sum

/// Block (c, p): sums of rows p, p + kParts x 8, ... of 32 packs of columns from c on.
__global__ void column_part_kernel(const Half* __restrict__ x, float* __restrict__ partial,
                                   int rows, int packs) {
  const int pack = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float sums[kWide] = {};
  const int first = static_cast<int>(blockIdx.y * 8 + threadIdx.y);
  for (int row = first; row < rows && pack < packs; row += kParts * 8) {
    const Wide in = load(x, static_cast<std::size_t>(row) * packs + pack);
#pragma unroll
    for (int j = 0; j < kWide; ++j) { sums[j] += static_cast<float>(in.values[j]); }
  }
  __shared__ float shared[8][32][kWide + 1];
#pragma unroll
  for (int j = 0; j < kWide; ++j) { shared[threadIdx.y][threadIdx.x][j] = sums[j]; }
  __syncthreads();
  if (threadIdx.y != 0 || pack >= packs) { return; }
  float* const out = partial + (static_cast<std::size_t>(blockIdx.y) * packs + pack) * kWide;
  for (int j = 0; j < kWide; ++j) {
    float sum = 0;
    for (int y = 0; y < 8; ++y) { sum += shared[y][threadIdx.x][j]; }
    out[j] = sum;
  }
}

__global__ void column_end_kernel(const float* __restrict__ partial, Half* __restrict__ sum,
                                  int columns) {
  const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float value = 0;
  for (int p = static_cast<int>(threadIdx.y); p < kParts && i < columns; p += 16) {
    value += partial[static_cast<std::size_t>(p) * columns + i];
  }
  __shared__ float sums[16][33];
  sums[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y != 0 || i >= columns) { return; }
  for (int y = 1; y < 16; ++y) { value += sums[y][threadIdx.x]; }
  sum[i] = Half(value);
}

__global__ void widen_kernel(const Half* __restrict__ x, float* __restrict__ y, std::size_t packs) {
  const std::size_t p = index();
  if (p >= packs) { return; }
  const Wide in = load(x, p);
  Pack<float> low;
  Pack<float> high;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    low.values[j] = static_cast<float>(in.values[j]);
    high.values[j] = static_cast<float>(in.values[4 + j]);
  }
  reinterpret_cast<Pack<float>*>(y)[2 * p] = low;
  reinterpret_cast<Pack<float>*>(y)[2 * p + 1] = high;
}

__global__ void narrow_kernel(const float* __restrict__ x, Half* __restrict__ y,
                              std::size_t packs) {
  const std::size_t p = index();
  if (p >= packs) { return; }
  const auto low = reinterpret_cast<const Pack<float>*>(x)[2 * p];
  const auto high = reinterpret_cast<const Pack<float>*>(x)[2 * p + 1];
  Wide out;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    out.values[j] = Half(low.values[j]);
    out.values[4 + j] = Half(high.values[j]);
  }
  store(y, p, out);
}

__global__ void join_kernel(const Half* __restrict__ parts, Half* __restrict__ out, int rows,
                            int row) {
  const std::size_t p = index();
  const std::size_t width = 3 * static_cast<std::size_t>(row);
  if (p >= width * rows) { return; }
  const std::size_t part = p % width / row;
  store(out, p, load(parts, (part * rows + p / width) * row + p % row));
}

/// The word at a place, and where it lies; the processor's stack has the same.
__device__ std::size_t token_at(std::size_t place, int vocab) { return place * 31 % vocab; }

__global__ void embed_kernel(EmbedShape e, const Half* __restrict__ table,
                             const Half* __restrict__ positions, Half* __restrict__ x) {
  const std::size_t p = index();
  const std::size_t row = e.columns / kWide;
  const std::size_t place = p / row;
  if (place >= static_cast<std::size_t>(e.tokens)) { return; }
  const Wide word = load(table, token_at(place, e.vocab) * row + p % row);
  const Wide position = load(positions, place % e.sequence * row + p % row);
  Wide out;
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    out.values[j] =
        Half(static_cast<float>(word.values[j]) + static_cast<float>(position.values[j]));
  }
  store(x, p, out);
}

__global__ void embed_back_kernel(EmbedShape e, const Half* __restrict__ dx,
                                  Half* __restrict__ dtable) {
  const std::size_t p = index();
  const std::size_t row = e.columns / 2;
  const std::size_t place = p / row;
  if (place >= static_cast<std::size_t>(e.tokens)) { return; }
  auto* const to = reinterpret_cast<__nv_bfloat162*>(dtable);
  atomicAdd(to + token_at(place, e.vocab) * row + p % row,
            reinterpret_cast<const __nv_bfloat162*>(dx)[p]);
}

__global__ void positions_back_kernel(EmbedShape e, const Half* __restrict__ dx,
                                      Half* __restrict__ dpositions) {
  const std::size_t p = index();
  const std::size_t all = static_cast<std::size_t>(e.sequence) * e.columns / kWide;
  if (p >= all) { return; }
  float sums[kWide] = {};
  for (int sample = 0; sample < e.tokens / e.sequence; ++sample) {
    const Wide in = load(dx, sample * all + p);
#pragma unroll
    for (int j = 0; j < kWide; ++j) { sums[j] += static_cast<float>(in.values[j]); }
  }
  Wide out;
#pragma unroll
  for (int j = 0; j < kWide; ++j) { out.values[j] = Half(sums[j]); }
  store(dpositions, p, out);
}

/// Element i of the sequence x -> 1664525 x + 1013904223 from 1 on (Numerical Recipes), by powers
/// of the step.
__global__ void start_kernel(float* weights, Half* copy, std::size_t count) {
  const std::size_t i = index();
  if (i >= count) { return; }
  unsigned factor = 1664525U;
  unsigned addend = 1013904223U;
  unsigned state = 1;
  for (std::size_t steps = i + 1; steps > 0; steps /= 2) {
    if (steps % 2 == 1) { state = state * factor + addend; }
    addend = addend * factor + addend;
    factor *= factor;
  }
  weights[i] = 0.02F * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
  copy[i] = Half(weights[i]);
}

__global__ void set_kernel(float* weights, Half* copy, float value, std::size_t count) {
  const std::size_t i = index();
  if (i >= count) { return; }
  weights[i] = value;
  copy[i] = Half(value);
}

std::size_t packs_of(const RowShape& r) {
  return static_cast<std::size_t>(r.rows) * static_cast<std::size_t>(r.columns / kWide);
}

}  // namespace

void run_bias_gelu(const RowShape& r, const Half* x, const Half* bias, Half* y,
                   cudaStream_t stream) {
  const std::size_t packs = packs_of(r);
  bias_gelu_kernel<<<blocks_for(packs), 256, 0, stream>>>(x, bias, y, packs, r.columns / kWide);
  check(cudaGetLastError());
}

void run_gelu_back(const RowShape& r, const GeluBack& a, cudaStream_t stream) {
  const std::size_t packs = packs_of(r);
  gelu_back_kernel<<<blocks_for(packs), 256, 0, stream>>>(a, packs, r.columns / kWide);
  check(cudaGetLastError());
}

void run_bias_add(const RowShape& r, const BiasAdd& a, cudaStream_t stream) {
  const std::size_t packs = packs_of(r);
  bias_add_kernel<<<blocks_for(packs), 256, 0, stream>>>(a, packs, r.columns / kWide);
  check(cudaGetLastError());
}

std::size_t column_partial(int columns) {
  return static_cast<std::size_t>(kParts) * static_cast<std::size_t>(columns);
}

void run_column_sum(const RowShape& r, const Half* x, float* partial, Half* sum,
                    cudaStream_t stream) {
  const int packs = r.columns / kWide;
  column_part_kernel<<<dim3(static_cast<unsigned>((packs + 31) / 32), kParts), dim3(32, 8), 0,
                       stream>>>(x, partial, r.rows, packs);
  column_end_kernel<<<static_cast<unsigned>((r.columns + 31) / 32), dim3(32, 16), 0, stream>>>(
      partial, sum, r.columns);
  check(cudaGetLastError());
}

void run_widen(const Half* x, float* y, std::size_t count, cudaStream_t stream) {
  widen_kernel<<<blocks_for(count / kWide), 256, 0, stream>>>(x, y, count / kWide);
  check(cudaGetLastError());
}

void run_narrow(const float* x, Half* y, std::size_t count, cudaStream_t stream) {
  narrow_kernel<<<blocks_for(count / kWide), 256, 0, stream>>>(x, y, count / kWide);
  check(cudaGetLastError());
}

void run_join(const RowShape& r, const Half* parts, Half* out, cudaStream_t stream) {
  join_kernel<<<blocks_for(3 * packs_of(r)), 256, 0, stream>>>(parts, out, r.rows,
                                                               r.columns / kWide);
  check(cudaGetLastError());
}

void run_embed(const EmbedShape& e, const Half* table, const Half* positions, Half* x,
               cudaStream_t stream) {
  embed_kernel<<<blocks_for(packs_of({e.tokens, e.columns})), 256, 0, stream>>>(e, table, positions,
                                                                                x);
  check(cudaGetLastError());
}

void run_embed_back(const EmbedShape& e, const Half* dx, Half* dtable, Half* dpositions,
                    cudaStream_t stream) {
  const std::size_t pairs = static_cast<std::size_t>(e.tokens) * e.columns / 2;
  embed_back_kernel<<<blocks_for(pairs), 256, 0, stream>>>(e, dx, dtable);
  positions_back_kernel<<<blocks_for(packs_of({e.sequence, e.columns})), 256, 0, stream>>>(
      e, dx, dpositions);
  check(cudaGetLastError());
}

void run_start(float* weights, Half* copy, std::size_t count, cudaStream_t stream) {
  start_kernel<<<blocks_for(count), 256, 0, stream>>>(weights, copy, count);
  check(cudaGetLastError());
}

void run_set(float* weights, Half* copy, float value, std::size_t count, cudaStream_t stream) {
  set_kernel<<<blocks_for(count), 256, 0, stream>>>(weights, copy, value, count);
  check(cudaGetLastError());
}

}  // namespace tsim::calibrate
