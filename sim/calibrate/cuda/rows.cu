#include <algorithm>

#include "kernels.hpp"
#include "pack.cuh"

namespace tsim::calibrate {
namespace {

/// y = (x - mean) / sqrt(var) w + b; keeps mean and 1/sqrt(var) of the row.
template <typename T>
__global__ void layernorm_kernel(const T* __restrict__ x, const T* __restrict__ w,
                                 const T* __restrict__ b, T* __restrict__ y,
                                 float2* __restrict__ kept, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const auto v = static_cast<float>(x[row + i]);
    sum += v;
    squares += v * v;
  }
  const float mean = block_sum(sum) / columns;
  const float scale = rsqrtf(block_sum(squares) / columns - mean * mean + 1e-5F);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    y[row + i] = T((static_cast<float>(x[row + i]) - mean) * scale * static_cast<float>(w[i]) +
                   static_cast<float>(b[i]));
  }
  if (threadIdx.x == 0) { kept[blockIdx.x] = {mean, scale}; }
}

/// dx of a row; the gradients of w and b are summed over the rows of a block in registers' stead
/// by atomics at its end.
template <typename T>
__global__ void layernorm_bwd_kernel(const T* __restrict__ x, const T* __restrict__ dy,
                                     const T* __restrict__ w, const float2* __restrict__ kept,
                                     T* __restrict__ dx, float* __restrict__ dw,
                                     float* __restrict__ db, int rows, int columns) {
  extern __shared__ float sums[];  // [2, columns]
  for (int i = threadIdx.x; i < 2 * columns; i += blockDim.x) { sums[i] = 0; }
  __syncthreads();
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = static_cast<std::size_t>(r) * columns;
    const float2 k = kept[r];
    float a = 0;
    float c = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      const float n = (static_cast<float>(x[row + i]) - k.x) * k.y;
      const auto d = static_cast<float>(dy[row + i]);
      const float g = d * static_cast<float>(w[i]);
      a += g;
      c += g * n;
      sums[i] += d * n;
      sums[columns + i] += d;
    }
    const float mean = block_sum(a) / columns;
    const float slope = block_sum(c) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      const float n = (static_cast<float>(x[row + i]) - k.x) * k.y;
      const float g = static_cast<float>(dy[row + i]) * static_cast<float>(w[i]);
      dx[row + i] = T((g - mean - n * slope) * k.y);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    atomicAdd(&dw[i], sums[i]);
    atomicAdd(&db[i], sums[columns + i]);
  }
}

template <typename T>
__global__ void softmax_kernel(const T* __restrict__ x, T* __restrict__ y, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    most = fmaxf(most, static_cast<float>(x[row + i]));
  }
  most = block_max(most);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += __expf(static_cast<float>(x[row + i]) - most);
  }
  const float scale = 1.0F / block_sum(sum);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    y[row + i] = T(__expf(static_cast<float>(x[row + i]) - most) * scale);
  }
}

template <typename T>
__global__ void softmax_bwd_kernel(const T* __restrict__ y, const T* __restrict__ dy,
                                   T* __restrict__ dx, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += static_cast<float>(y[row + i]) * static_cast<float>(dy[row + i]);
  }
  sum = block_sum(sum);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    dx[row + i] = T(static_cast<float>(y[row + i]) * (static_cast<float>(dy[row + i]) - sum));
  }
}

/// -log softmax(x)[target], and max and sum of the row for the backward.
template <typename T>
__global__ void cross_entropy_kernel(const T* __restrict__ x, float2* __restrict__ kept,
                                     float* __restrict__ loss, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    most = fmaxf(most, static_cast<float>(x[row + i]));
  }
  most = block_max(most);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += __expf(static_cast<float>(x[row + i]) - most);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    kept[blockIdx.x] = {most, sum};
    loss[blockIdx.x] =
        logf(sum) + most - static_cast<float>(x[row + blockIdx.x * 7U % columns]);
  }
}

template <typename T>
__global__ void cross_entropy_bwd_kernel(const T* __restrict__ x, const float2* __restrict__ kept,
                                         T* __restrict__ dx, int columns) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  const float2 k = kept[blockIdx.x];
  const unsigned target = blockIdx.x * 7U % columns;
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(columns); i += blockDim.x) {
    const float p = __expf(static_cast<float>(x[row + i]) - k.x) / k.y;
    dx[row + i] = T(p - (i == target ? 1.0F : 0.0F));
  }
}

struct Rows {
  Buffer x, dy, out, w, b, kept, dw, db;
  int rows = 0, columns = 0;
};

/// Threads of a block for one row.
unsigned threads_for(int columns) {
  return static_cast<unsigned>(std::clamp((columns + 7) / 8 / 32 * 32, 128, 1024));
}

template <typename T>
void run(const std::string& op, bool backward, const Rows& r, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(r.rows);
  const unsigned threads = threads_for(r.columns);
  auto* const kept = r.kept.as<float2>();
  if (op == "layernorm" && !backward) {
    layernorm_kernel<T><<<rows, threads, 0, stream>>>(r.x.as<T>(), r.w.as<T>(), r.b.as<T>(),
                                                      r.out.as<T>(), kept, r.columns);
  } else if (op == "layernorm") {
    const std::size_t shared = 2 * sizeof(float) * static_cast<std::size_t>(r.columns);
    layernorm_bwd_kernel<T><<<std::min(rows, 264U), threads, shared, stream>>>(
        r.x.as<T>(), r.dy.as<T>(), r.w.as<T>(), kept, r.out.as<T>(), r.dw.as<float>(),
        r.db.as<float>(), r.rows, r.columns);
  } else if (op == "softmax" && !backward) {
    softmax_kernel<T><<<rows, threads, 0, stream>>>(r.x.as<T>(), r.out.as<T>(), r.columns);
  } else if (op == "softmax") {
    softmax_bwd_kernel<T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), r.dy.as<T>(), r.out.as<T>(), r.columns);
  } else if (!backward) {
    cross_entropy_kernel<T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), kept, r.dw.as<float>(), r.columns);
  } else {
    cross_entropy_bwd_kernel<T>
        <<<rows, threads, 0, stream>>>(r.x.as<T>(), kept, r.out.as<T>(), r.columns);
  }
}

/// More shared memory a block than a kernel gets unasked.
template <typename T>
void allow_shared(std::size_t bytes) {
  if (bytes > 200 * 1024) { throw NotHere("layernorm: rows too long for one block"); }
  check(cudaFuncSetAttribute(layernorm_bwd_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)));
}

}  // namespace

Summary time_rows(const std::string& op, const std::string& dtype, bool backward, long rows,
                  long columns, cudaStream_t stream) {
  const Format format = format_of(dtype);
  const auto cells = static_cast<std::size_t>(rows * columns);
  const std::size_t bytes = cells * size_of(format);
  const auto wide = static_cast<std::size_t>(std::max(rows, columns));
  const bool gradient = backward && op != "cross_entropy";
  Rows r{Buffer::on_device(bytes),    Buffer::on_device(gradient ? bytes : 16),
         Buffer::on_device(bytes),    Buffer::on_device(wide * 4),
         Buffer::on_device(wide * 4), Buffer::on_device(wide * 8),
         Buffer::on_device(wide * 4), Buffer::on_device(wide * 4),
         static_cast<int>(rows),      static_cast<int>(columns)};
  for (const Buffer* buffer : {&r.x, &r.dy, &r.w, &r.b}) { fill(*buffer, format, stream); }
  for (const Buffer* buffer : {&r.kept, &r.dw, &r.db}) { fill(*buffer, Format::fp32, stream); }
  return with_type(dtype, [&]<typename T>() {
    if (op == "layernorm" && backward) { allow_shared<T>(8 * static_cast<std::size_t>(columns)); }
    return time_calls([&](int) { run<T>(op, backward, r, stream); }, stream);
  });
}

}  // namespace tsim::calibrate
