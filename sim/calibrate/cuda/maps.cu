#include <algorithm>
#include <vector>

#include "sim/calibrate/cuda/kernels.hpp"
#include "sim/calibrate/cuda/pack.cuh"
#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {
namespace {

enum class Map { copy, add, gelu, gelu_bwd, bias_gelu, dropout, dropout_bwd, join };

Map map_of(const std::string& op) {
  if (op == "copy") { return Map::copy; }
  if (op == "add") { return Map::add; }
  if (op == "gelu") { return Map::gelu; }
  if (op == "gelu_bwd") { return Map::gelu_bwd; }
  if (op == "bias_gelu") { return Map::bias_gelu; }
  if (op == "dropout") { return Map::dropout; }
  if (op == "join") { return Map::join; }
  return Map::dropout_bwd;
}

constexpr float kSlope = 0.7978845608F;  // sqrt(2 / pi)

__device__ float gelu(float x) {
  return 0.5F * x * (1.0F + tanhf(kSlope * (x + 0.044715F * x * x * x)));
}

__device__ float gelu_slope(float x) {
  const float t = tanhf(kSlope * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * kSlope * (1.0F + 0.134145F * x * x);
}

/// A random number in [0, 1) from an index, as a dropout needs one for each element.
__device__ float uniform(std::size_t i) {
  auto x = static_cast<unsigned>(i) * 0x9e3779b9U;
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return static_cast<float>(x >> 8) * 0x1p-24F;
}

template <Map kMap, typename T>
__device__ float value(const T* y, const unsigned char* mask, std::size_t i, float x) {
  if constexpr (kMap == Map::copy) { return x; }
  if constexpr (kMap == Map::add) { return x + static_cast<float>(y[i]); }
  if constexpr (kMap == Map::gelu) { return gelu(x); }
  if constexpr (kMap == Map::bias_gelu) { return gelu(x + static_cast<float>(y[i % 1024])); }
  if constexpr (kMap == Map::gelu_bwd) { return static_cast<float>(y[i]) * gelu_slope(x); }
  if constexpr (kMap == Map::dropout_bwd) { return mask[i] != 0 ? x * 1.1111F : 0.0F; }
  return 0.0F;
}

template <Map kMap, typename T>
__global__ void map_kernel(const T* __restrict__ x, const T* __restrict__ y,
                           unsigned char* __restrict__ mask, T* __restrict__ out,
                           std::size_t packs) {
  using Wide = Pack<T>;
  const std::size_t p = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) { return; }
  const Wide in = reinterpret_cast<const Wide*>(x)[p];
  Wide result;
  struct alignas(Wide::kSize) Bytes {
    unsigned char values[Wide::kSize];
  } kept;
#pragma unroll
  for (int j = 0; j < Wide::kSize; ++j) {
    const std::size_t i = p * Wide::kSize + j;
    const auto v = static_cast<float>(in.values[j]);
    if constexpr (kMap == Map::dropout) {
      kept.values[j] = uniform(i) > 0.1F ? 1 : 0;
      result.values[j] = T(kept.values[j] != 0 ? v * 1.1111F : 0.0F);
    } else {
      result.values[j] = T(value<kMap>(y, mask, i, v));
    }
  }
  if constexpr (kMap == Map::dropout) { reinterpret_cast<Bytes*>(mask)[p] = kept; }
  reinterpret_cast<Wide*>(out)[p] = result;
}

struct Operands {
  Buffer x, y, out, mask;
};

template <Map kMap, typename T>
void launch(const Operands& o, std::size_t packs, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((packs + 255) / 256);
  map_kernel<kMap, T><<<blocks, 256, 0, stream>>>(o.x.as<T>(), o.y.as<T>(),
                                                  o.mask.as<unsigned char>(), o.out.as<T>(), packs);
}

/// Three tensors of rows of 128 packs side by side, as the gradients of queries, keys and values.
__global__ void join_kernel(const uint4* __restrict__ parts, uint4* __restrict__ out,
                            std::size_t packs) {
  constexpr std::size_t kRow = 128;
  const std::size_t p = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) { return; }
  const std::size_t row = p / (3 * kRow);
  const std::size_t at = p % (3 * kRow);
  const std::size_t from = (at / kRow * (packs / (3 * kRow)) + row) * kRow + at % kRow;
  out[p] = parts[from < packs ? from : p];
}

void launch_join(const Operands& o, std::size_t packs, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((packs + 255) / 256);
  join_kernel<<<blocks, 256, 0, stream>>>(o.x.as<uint4>(), o.out.as<uint4>(), packs);
}

template <typename T>
void launch(Map map, const Operands& o, std::size_t packs, cudaStream_t stream) {
  switch (map) {
    case Map::copy: return launch<Map::copy, T>(o, packs, stream);
    case Map::add: return launch<Map::add, T>(o, packs, stream);
    case Map::gelu: return launch<Map::gelu, T>(o, packs, stream);
    case Map::gelu_bwd: return launch<Map::gelu_bwd, T>(o, packs, stream);
    case Map::bias_gelu: return launch<Map::bias_gelu, T>(o, packs, stream);
    case Map::dropout: return launch<Map::dropout, T>(o, packs, stream);
    case Map::dropout_bwd: return launch<Map::dropout_bwd, T>(o, packs, stream);
    case Map::join: return launch_join(o, packs, stream);
  }
}

Operands operands(Map map, Format format, std::size_t elements, cudaStream_t stream) {
  const std::size_t bytes = elements * size_of(format);
  const bool two = map == Map::add || map == Map::gelu_bwd;
  const bool masked = map == Map::dropout || map == Map::dropout_bwd;
  Operands o{Buffer::on_device(bytes), Buffer::on_device(two ? bytes : 4096),
             Buffer::on_device(bytes), Buffer::on_device(masked ? elements : 16)};
  fill(o.x, format, stream);
  fill(o.y, format, stream);
  check(cudaMemsetAsync(o.mask.data(), 1, o.mask.size(), stream));
  return o;
}

/// Four values as they lie in memory.
template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

/// `copy`: the weights in bf16; null: not wanted.
template <typename Gradient>
__global__ void adam_kernel(const Gradient* __restrict__ gradient, float* __restrict__ weight,
                            float* __restrict__ first, float* __restrict__ second,
                            __nv_bfloat16* __restrict__ copy, std::size_t packs) {
  const std::size_t p = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= packs) { return; }
  const auto g = reinterpret_cast<const Four<Gradient>*>(gradient)[p];
  auto w = reinterpret_cast<Pack<float>*>(weight)[p];
  auto m = reinterpret_cast<Pack<float>*>(first)[p];
  auto v = reinterpret_cast<Pack<float>*>(second)[p];
  Four<__nv_bfloat16> half;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const auto d = static_cast<float>(g.values[j]);
    m.values[j] = 0.9F * m.values[j] + 0.1F * d;
    v.values[j] = 0.999F * v.values[j] + 0.001F * d * d;
    w.values[j] -= 1e-4F * (m.values[j] / (sqrtf(v.values[j]) + 1e-8F) + 0.01F * w.values[j]);
    half.values[j] = __nv_bfloat16(w.values[j]);
  }
  reinterpret_cast<Pack<float>*>(weight)[p] = w;
  reinterpret_cast<Pack<float>*>(first)[p] = m;
  reinterpret_cast<Pack<float>*>(second)[p] = v;
  if (copy != nullptr) { reinterpret_cast<Four<__nv_bfloat16>*>(copy)[p] = half; }
}

}  // namespace

Summary time_map(const std::string& op, const std::string& dtype, std::size_t elements, bool cold,
                 cudaStream_t stream) {
  const Map map = map_of(op);
  const Format format = format_of(dtype);
  const std::size_t per_pack = 16 / size_of(format);
  const std::size_t packs = (elements + per_pack - 1) / per_pack;
  const std::size_t whole = packs * per_pack;
  std::vector<Operands> sets;
  const int count = operand_sets(2 * whole * size_of(format), cold);
  for (int i = 0; i < count; ++i) { sets.push_back(operands(map, format, whole, stream)); }
  return with_type(dtype, [&]<typename T>() {
    return time_calls(
        [&](int call) {
          launch<T>(map, sets[static_cast<std::size_t>(call) % sets.size()], packs, stream);
        },
        stream);
  });
}

Summary time_adam(std::size_t elements, cudaStream_t stream) {
  const std::size_t packs = (elements + 3) / 4;
  const std::size_t n = packs * 4;
  const Buffer gradient = Buffer::on_device(2 * n);
  const Buffer copy = Buffer::on_device(2 * n);
  const Buffer weight = Buffer::on_device(4 * n);
  const Buffer first = Buffer::on_device(4 * n);
  const Buffer second = Buffer::on_device(4 * n);
  fill(gradient, Format::bf16, stream);
  fill(weight, Format::fp32, stream);
  check(cudaMemsetAsync(first.data(), 0, first.size(), stream));
  check(cudaMemsetAsync(second.data(), 0, second.size(), stream));
  const auto blocks = static_cast<unsigned>((packs + 255) / 256);
  return time_calls(
      [&](int) {
        adam_kernel<<<blocks, 256, 0, stream>>>(gradient.as<__nv_bfloat16>(), weight.as<float>(),
                                                first.as<float>(), second.as<float>(),
                                                copy.as<__nv_bfloat16>(), packs);
      },
      stream);
}

void run_adam(const AdamArrays& a, std::size_t count, cudaStream_t stream) {
  const std::size_t packs = count / 4;
  adam_kernel<<<static_cast<unsigned>((packs + 255) / 256), 256, 0, stream>>>(
      a.gradient, a.weight, a.first, a.second, static_cast<Half*>(nullptr), packs);
  check(cudaGetLastError());
}

}  // namespace tsim::calibrate
