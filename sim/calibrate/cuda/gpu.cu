#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A value in (-1, 1) from an index, by an integer hash (Wang).
__device__ float hashed(std::size_t i) {
  auto x = static_cast<unsigned>(i ^ (i >> 32));
  x = (x ^ 61U) ^ (x >> 16);
  x *= 9U;
  x ^= x >> 4;
  x *= 0x27d4eb2dU;
  x ^= x >> 15;
  return static_cast<float>(x & 0xffffU) / 32768.0F - 1.0F;
}

template <typename T>
__global__ void fill_kernel(T* out, std::size_t n) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    out[i] = T(hashed(i));
  }
}

double time_batch(const std::function<void(int)>& call, int calls, cudaStream_t stream,
                  const Event& start, const Event& stop) {
  start.record(stream);
  for (int i = 0; i < calls; ++i) { call(i); }
  stop.record(stream);
  check(cudaEventSynchronize(stop.get()));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return 1e3 * static_cast<double>(milliseconds) / calls;
}

}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) { return; }
  cudaGetLastError();  // clears it, so that the next shape starts afresh
  const std::string text = std::string(cudaGetErrorName(status)) + " (" +
                           cudaGetErrorString(status) + ") in " + where.function_name();
  if (status == cudaErrorMemoryAllocation) { throw OutOfMemory(text); }
  throw std::runtime_error(text);
}

Buffer Buffer::on_device(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, std::max<std::size_t>(bytes, 16)));
  Buffer buffer;
  buffer.data_ = {data, [](void* p) { cudaFree(p); }};
  buffer.size_ = bytes;
  return buffer;
}

Buffer Buffer::pinned(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, std::max<std::size_t>(bytes, 16)));
  Buffer buffer;
  buffer.data_ = {data, [](void* p) { cudaFreeHost(p); }};
  buffer.size_ = bytes;
  return buffer;
}

Stream::Stream() : stream_(nullptr, [](cudaStream_t s) { cudaStreamDestroy(s); }) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_.reset(stream);
}

Event::Event() : event_(nullptr, [](cudaEvent_t e) { cudaEventDestroy(e); }) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event));
  event_.reset(event);
}

void Event::record(cudaStream_t stream) const { check(cudaEventRecord(event_.get(), stream)); }

Summary time_calls(const std::function<void(int)>& call, cudaStream_t stream,
                   const Patience& patience) {
  const Event start;
  const Event stop;
  time_batch(call, 3, stream, start, stop);  // loads kernels, raises clocks
  const double first = time_batch(call, 3, stream, start, stop);
  const int calls =
      std::clamp(static_cast<int>(patience.batch_seconds * 1e6 / std::max(first, 0.5)), 1, 2000);
  time_batch(call, calls, stream, start, stop);
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    times.push_back(time_batch(call, calls, stream, start, stop));
    if (static_cast<int>(times.size()) < patience.least_batches) { continue; }
    Summary summary = summarise(times);
    if (uncertainty(summary) <= patience.uncertainty ||
        seconds_since(begin) > patience.most_seconds) {
      return summary;
    }
  }
}

std::size_t size_of(Format format) {
  switch (format) {
    case Format::fp32: return 4;
    case Format::fp8: return 1;
    case Format::bf16:
    case Format::fp16: return 2;
  }
  return 0;
}

Format format_of(const std::string& dtype) {
  if (dtype == "bf16") { return Format::bf16; }
  if (dtype == "fp16") { return Format::fp16; }
  if (dtype == "fp8") { return Format::fp8; }
  return Format::fp32;
}

void fill(const Buffer& buffer, Format format, cudaStream_t stream) {
  const std::size_t n = buffer.size() / size_of(format);
  const int blocks = static_cast<int>(std::min<std::size_t>((n + 255) / 256, 4096));
  if (blocks == 0) { return; }
  switch (format) {
    case Format::bf16:
      fill_kernel<<<blocks, 256, 0, stream>>>(buffer.as<__nv_bfloat16>(), n);
      break;
    case Format::fp16: fill_kernel<<<blocks, 256, 0, stream>>>(buffer.as<__half>(), n); break;
    case Format::fp32: fill_kernel<<<blocks, 256, 0, stream>>>(buffer.as<float>(), n); break;
    case Format::fp8: fill_kernel<<<blocks, 256, 0, stream>>>(buffer.as<__nv_fp8_e4m3>(), n); break;
  }
  check(cudaGetLastError());
}

std::size_t cache_size() {
  int device = 0;
  check(cudaGetDevice(&device));
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
  return static_cast<std::size_t>(bytes);
}

int operand_sets(std::size_t bytes_of_one, bool cold) {
  if (!cold) { return 1; }
  const std::size_t wanted = 3 * cache_size() / std::max<std::size_t>(bytes_of_one, 1) + 1;
  return static_cast<int>(std::clamp<std::size_t>(wanted, 1, 512));
}

}  // namespace tsim::calibrate
