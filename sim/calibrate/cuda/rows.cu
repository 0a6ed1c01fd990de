#include <algorithm>

#include "sim/calibrate/cuda/kernels.hpp"
#include "sim/calibrate/cuda/pack.cuh"
#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {
namespace {

/// Calls `body(i, pack)` for each pack of a row that is this thread's; `i` is its first column.
template <typename Wide, typename T, typename Body>
__device__ void for_packs(const T* row, int columns, Body body) {
  const auto* packs = reinterpret_cast<const Wide*>(row);
  for (int p = threadIdx.x; p < columns / Wide::kSize; p += blockDim.x) {
    body(p * Wide::kSize, packs[p]);
  }
}

template <typename Wide, typename T>
__device__ Wide pack_at(const T* row, int i) {
  return *reinterpret_cast<const Wide*>(row + i);
}

template <typename Wide, typename T>
__device__ void store(T* row, int i, const Wide& pack) {
  *reinterpret_cast<Wide*>(row + i) = pack;
}

/// Largest value of a row and the sum of exp(value - largest), in one pass.
template <typename Wide, typename T>
__device__ float2 largest_and_sum(const T* row, int columns) {
  float most = -INFINITY;
  float sum = 0;
  for_packs<Wide>(row, columns, [&](int, const Wide& pack) {
    float here = most;
#pragma unroll
    for (const T& v : pack.values) { here = fmaxf(here, static_cast<float>(v)); }
    sum *= __expf(most - here);
    most = here;
#pragma unroll
    for (const T& v : pack.values) { sum += __expf(static_cast<float>(v) - most); }
  });
  const float all = block_max(most);
  return {all, block_sum(most == -INFINITY ? 0.0F : sum * __expf(most - all))};
}

/// y = (x - mean) / sqrt(var) w + b; keeps mean and 1/sqrt(var) of the row.
template <typename Wide, typename T>
__global__ void layernorm_kernel(const T* __restrict__ x, const T* __restrict__ w,
                                 const T* __restrict__ b, T* __restrict__ y,
                                 float2* __restrict__ kept, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0;
  float squares = 0;
  for_packs<Wide>(x + row, columns, [&](int, const Wide& pack) {
#pragma unroll
    for (const T& value : pack.values) {
      const auto v = static_cast<float>(value);
      sum += v;
      squares += v * v;
    }
  });
  const float mean = block_sum(sum) / columns;
  const float scale = rsqrtf(block_sum(squares) / columns - mean * mean + 1e-5F);
  for_packs<Wide>(x + row, columns, [&](int i, const Wide& pack) {
    const Wide weight = pack_at<Wide>(w, i);
    const Wide bias = pack_at<Wide>(b, i);
    Wide out;
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      out.values[j] = T((static_cast<float>(pack.values[j]) - mean) * scale *
                            static_cast<float>(weight.values[j]) +
                        static_cast<float>(bias.values[j]));
    }
    store(y + row, i, out);
  });
  if (threadIdx.x == 0) { kept[blockIdx.x] = {mean, scale}; }
}

/// Packs of a row that one thread takes at most in layernorm_bwd_kernel.
constexpr int kPacks = 4;

/// dx of every row; each thread sums the gradients of w and b of its columns over the block's rows
/// and writes them to the block's row of `partial` [blocks, 2, columns].
template <typename Wide, typename T>
__global__ void layernorm_bwd_kernel(const T* __restrict__ x, const T* __restrict__ dy,
                                     const T* __restrict__ w, const float2* __restrict__ kept,
                                     T* __restrict__ dx, float* __restrict__ partial, int rows,
                                     int columns) {
  const int packs = columns / Wide::kSize;
  float dw[kPacks][Wide::kSize] = {};
  float db[kPacks][Wide::kSize] = {};
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = static_cast<std::size_t>(r) * columns;
    const float2 k = kept[r];
    float a = 0;
    float c = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = (threadIdx.x + p * blockDim.x) * Wide::kSize;
      if (i >= packs * Wide::kSize) { continue; }
      const Wide in = pack_at<Wide>(x + row, i);
      const Wide gradient = pack_at<Wide>(dy + row, i);
      const Wide weight = pack_at<Wide>(w, i);
#pragma unroll
      for (int j = 0; j < Wide::kSize; ++j) {
        const float n = (static_cast<float>(in.values[j]) - k.x) * k.y;
        const auto d = static_cast<float>(gradient.values[j]);
        const float g = d * static_cast<float>(weight.values[j]);
        a += g;
        c += g * n;
        dw[p][j] += d * n;
        db[p][j] += d;
      }
    }
    const float mean = block_sum(a) / columns;
    const float slope = block_sum(c) / columns;
    for_packs<Wide>(x + row, columns, [&](int i, const Wide& pack) {
      const Wide gradient = pack_at<Wide>(dy + row, i);
      const Wide weight = pack_at<Wide>(w, i);
      Wide out;
#pragma unroll
      for (int j = 0; j < Wide::kSize; ++j) {
        const float n = (static_cast<float>(pack.values[j]) - k.x) * k.y;
        const float g =
            static_cast<float>(gradient.values[j]) * static_cast<float>(weight.values[j]);
        out.values[j] = T((g - mean - n * slope) * k.y);
      }
      store(dx + row, i, out);
    });
  }
  float* const mine = partial + 2 * static_cast<std::size_t>(blockIdx.x) * columns;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = (threadIdx.x + p * blockDim.x) * Wide::kSize;
    if (i >= packs * Wide::kSize) { continue; }
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      mine[i + j] = dw[p][j];
      mine[columns + i + j] = db[p][j];
    }
  }
}

/// Sums over the blocks of layernorm_bwd_kernel: the gradients of weight and bias.
template <typename Out>
__global__ void sum_blocks_kernel(const float* __restrict__ partial, Out* __restrict__ dw,
                                  Out* __restrict__ db, int blocks, int columns) {
  const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float sum = 0;
  for (int b = static_cast<int>(threadIdx.y); b < blocks && i < 2 * columns; b += 16) {
    sum += partial[2 * static_cast<std::size_t>(b) * columns + i];
  }
  __shared__ float sums[16][33];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= 2 * columns) { return; }
  for (int y = 1; y < 16; ++y) { sum += sums[y][threadIdx.x]; }
  (i < columns ? dw[i] : db[i - columns]) = Out(sum);
}

template <typename Wide, typename T>
__global__ void softmax_kernel(const T* __restrict__ x, T* __restrict__ y, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  const float2 k = largest_and_sum<Wide>(x + row, columns);
  const float scale = 1.0F / k.y;
  for_packs<Wide>(x + row, columns, [&](int i, const Wide& pack) {
    Wide out;
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      out.values[j] = T(__expf(static_cast<float>(pack.values[j]) - k.x) * scale);
    }
    store(y + row, i, out);
  });
}

template <typename Wide, typename T>
__global__ void softmax_bwd_kernel(const T* __restrict__ y, const T* __restrict__ dy,
                                   T* __restrict__ dx, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0;
  for_packs<Wide>(y + row, columns, [&](int i, const Wide& pack) {
    const Wide gradient = pack_at<Wide>(dy + row, i);
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      sum += static_cast<float>(pack.values[j]) * static_cast<float>(gradient.values[j]);
    }
  });
  sum = block_sum(sum);
  for_packs<Wide>(y + row, columns, [&](int i, const Wide& pack) {
    const Wide gradient = pack_at<Wide>(dy + row, i);
    Wide out;
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      out.values[j] =
          T(static_cast<float>(pack.values[j]) * (static_cast<float>(gradient.values[j]) - sum));
    }
    store(dx + row, i, out);
  });
}

/// -log softmax(x)[target], and max and sum of the row for the backward.
template <typename Wide, typename T>
__global__ void cross_entropy_kernel(const T* __restrict__ x, float2* __restrict__ kept,
                                     float* __restrict__ loss, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  const float2 k = largest_and_sum<Wide>(x + row, columns);
  if (threadIdx.x == 0) {
    kept[blockIdx.x] = k;
    loss[blockIdx.x] = logf(k.y) + k.x - static_cast<float>(x[row + blockIdx.x * 7U % columns]);
  }
}

template <typename Wide, typename T>
__global__ void cross_entropy_bwd_kernel(const T* __restrict__ x, const float2* __restrict__ kept,
                                         T* __restrict__ dx, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  const float2 k = kept[blockIdx.x];
  const int target = static_cast<int>(blockIdx.x * 7U % static_cast<unsigned>(columns));
  for_packs<Wide>(x + row, columns, [&](int i, const Wide& pack) {
    Wide out;
#pragma unroll
    for (int j = 0; j < Wide::kSize; ++j) {
      const float p = __expf(static_cast<float>(pack.values[j]) - k.x) / k.y;
      out.values[j] = T(p - (i + j == target ? 1.0F : 0.0F));
    }
    store(dx + row, i, out);
  });
}

constexpr int kBackwardBlocks = 264;  // that share the rows of a layer norm's backward

struct Rows {
  Buffer x, dy, out, w, b, kept, dw, db;
  int rows = 0, columns = 0;
};

/// Threads of a block for one row of so many packs.
unsigned threads_for(int packs) {
  return static_cast<unsigned>(std::clamp((packs + 31) / 32 * 32, 64, 512));
}

template <typename Wide, typename T>
void layernorm(bool backward, const Rows& r, cudaStream_t stream) {
  const unsigned threads = threads_for(r.columns / Wide::kSize);
  if (!backward) {
    layernorm_kernel<Wide, T><<<static_cast<unsigned>(r.rows), threads, 0, stream>>>(
        r.x.as<T>(), r.w.as<T>(), r.b.as<T>(), r.out.as<T>(), r.kept.as<float2>(), r.columns);
    return;
  }
  if (r.columns / Wide::kSize > kPacks * static_cast<int>(threads)) {
    throw NotHere("layernorm: rows too long for one block");
  }
  const int blocks = std::min(r.rows, kBackwardBlocks);
  layernorm_bwd_kernel<Wide, T><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
      r.x.as<T>(), r.dy.as<T>(), r.w.as<T>(), r.kept.as<float2>(), r.out.as<T>(), r.dw.as<float>(),
      r.rows, r.columns);
  sum_blocks_kernel<<<static_cast<unsigned>((2 * r.columns + 31) / 32), dim3(32, 16), 0, stream>>>(
      r.dw.as<float>(), r.db.as<float>(), r.db.as<float>() + r.columns, blocks, r.columns);
}

template <typename Wide, typename T>
void run(const std::string& op, bool backward, const Rows& r, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(r.rows);
  const unsigned threads = threads_for(r.columns / Wide::kSize);
  auto* const kept = r.kept.as<float2>();
  if (op == "layernorm") {
    layernorm<Wide, T>(backward, r, stream);
  } else if (op == "softmax" && !backward) {
    softmax_kernel<Wide, T><<<rows, threads, 0, stream>>>(r.x.as<T>(), r.out.as<T>(), r.columns);
  } else if (op == "softmax") {
    softmax_bwd_kernel<Wide, T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), r.dy.as<T>(), r.out.as<T>(), r.columns);
  } else if (!backward) {
    cross_entropy_kernel<Wide, T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), kept, r.dw.as<float>(), r.columns);
  } else {
    cross_entropy_bwd_kernel<Wide, T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), kept, r.out.as<T>(), r.columns);
  }
}

/// By 16 bytes where rows allow it, else by single values.
template <typename T>
void run_widest(const std::string& op, bool backward, const Rows& r, cudaStream_t stream) {
  if (r.columns % Pack<T>::kSize == 0) {
    run<Pack<T>, T>(op, backward, r, stream);
  } else {
    run<Pack<T, 1>, T>(op, backward, r, stream);
  }
  check(cudaGetLastError());
}

}  // namespace

Summary time_rows(const std::string& op, const std::string& dtype, bool backward, long rows,
                  long columns, cudaStream_t stream) {
  const Format format = format_of(dtype);
  const auto cells = static_cast<std::size_t>(rows * columns);
  const std::size_t bytes = cells * size_of(format);
  const auto wide = static_cast<std::size_t>(std::max(rows, columns));
  const std::size_t partial = std::max(
      wide * 4, static_cast<std::size_t>(columns) * 8 * static_cast<std::size_t>(kBackwardBlocks));
  const bool gradient = backward && op != "cross_entropy";
  Rows r{Buffer::on_device(bytes),    Buffer::on_device(gradient ? bytes : 16),
         Buffer::on_device(bytes),    Buffer::on_device(wide * 4),
         Buffer::on_device(wide * 4), Buffer::on_device(wide * 8),
         Buffer::on_device(partial),  Buffer::on_device(wide * 8),
         static_cast<int>(rows),      static_cast<int>(columns)};
  for (const Buffer* buffer : {&r.x, &r.dy, &r.w, &r.b}) { fill(*buffer, format, stream); }
  for (const Buffer* buffer : {&r.kept, &r.dw, &r.db}) { fill(*buffer, Format::fp32, stream); }
  return with_type(dtype, [&]<typename T>() {
    return time_calls([&](int) { run_widest<T>(op, backward, r, stream); }, stream);
  });
}

void run_norm(const RowShape& r, const NormArrays& a, cudaStream_t stream) {
  layernorm_kernel<Pack<__nv_bfloat16>, __nv_bfloat16>
      <<<static_cast<unsigned>(r.rows), threads_for(r.columns / 8), 0, stream>>>(
          a.x, a.w, a.b, a.y, reinterpret_cast<float2*>(a.kept), r.columns);
  check(cudaGetLastError());
}

void run_norm_back(const RowShape& r, const NormArrays& a, cudaStream_t stream) {
  const unsigned threads = threads_for(r.columns / 8);
  if (r.columns / 8 > kPacks * static_cast<int>(threads)) {
    throw NotHere("layernorm: rows too long for one block");
  }
  const int blocks = std::min(r.rows, kBackwardBlocks);
  layernorm_bwd_kernel<Pack<__nv_bfloat16>, __nv_bfloat16>
      <<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
          a.x, a.dy, a.w, reinterpret_cast<const float2*>(a.kept), a.y, a.partial, r.rows,
          r.columns);
  sum_blocks_kernel<<<static_cast<unsigned>((2 * r.columns + 31) / 32), dim3(32, 16), 0, stream>>>(
      a.partial, a.dw, a.db, blocks, r.columns);
  check(cudaGetLastError());
}

std::size_t norm_partial(int columns) {
  return 2 * static_cast<std::size_t>(columns) * static_cast<std::size_t>(kBackwardBlocks);
}

void run_cross_entropy(const RowShape& r, const LossArrays& a, bool backward, cudaStream_t stream) {
  const unsigned threads = threads_for(r.columns / 4);
  const auto rows = static_cast<unsigned>(r.rows);
  auto* const kept = reinterpret_cast<float2*>(a.kept);
  if (backward) {
    cross_entropy_bwd_kernel<Pack<float>, float>
        <<<rows, threads, 0, stream>>>(a.x, kept, a.dx, r.columns);
  } else {
    cross_entropy_kernel<Pack<float>, float>
        <<<rows, threads, 0, stream>>>(a.x, kept, a.loss, r.columns);
  }
  check(cudaGetLastError());
}

}  // namespace tsim::calibrate
