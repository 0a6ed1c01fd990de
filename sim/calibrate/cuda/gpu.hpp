// Devices, memory, streams and events with owners, and times of what runs on a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>

#include "sim/calibrate/statistics.hpp"

namespace tsim::calibrate {

/// The device has no room for what a shape needs.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// This machine cannot do it (fewer devices, no NCCL, a format that the device lacks).
struct NotHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws with CUDA's words and the place when a call failed; OutOfMemory for that reason.
void check(cudaError_t status, std::source_location where = std::source_location::current());

/// Device (or pinned host) memory; uninitialised.
class Buffer {
 public:
  Buffer() = default;
  static Buffer on_device(std::size_t bytes);
  static Buffer pinned(std::size_t bytes);
  void* data() const { return data_.get(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_{nullptr, [](void*) {}};
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream();
  operator cudaStream_t() const { return stream_.get(); }  // as CUDA's calls want it

 private:
  std::unique_ptr<CUstream_st, void (*)(cudaStream_t)> stream_;
};

class Event {
 public:
  Event();
  void record(cudaStream_t stream) const;
  cudaEvent_t get() const { return event_.get(); }

 private:
  std::unique_ptr<CUevent_st, void (*)(cudaEvent_t)> event_;
};

/// How long and how surely a thing is timed.
struct Patience {
  double most_seconds = 0.25;  // of one thing, warm-up not counted
  double uncertainty = 0.004;  // enough when the median is known so well
  int least_batches = 7;
  double batch_seconds = 2e-3;  // calls are timed in batches of at least this length
};

/// Time of one call of `call(i)`, i = 0, 1, ..., in microseconds: batches of calls, one after the
/// other on `stream`, between two events.
Summary time_calls(const std::function<void(int)>& call, cudaStream_t stream,
                   const Patience& patience = {});

/// Fills with values between -1 and 1 that look random: what matrix units draw depends on the data.
enum class Format { bf16, fp16, fp32, fp8 };
std::size_t size_of(Format format);
/// "bf16", "fp16", "fp32", "tf32" (kept as fp32), "fp8".
Format format_of(const std::string& dtype);
void fill(const Buffer& buffer, Format format, cudaStream_t stream);

/// Bytes of the level-2 cache of the current device.
std::size_t cache_size();

/// Sets of operands that together do not fit into the cache, so that each call finds it cold; one
/// set when it shall be warm.
int operand_sets(std::size_t bytes_of_one, bool cold);

}  // namespace tsim::calibrate
