// The sum of gradients over replicas, each of which a thread drives.
#pragma once

#include <memory>

#include "sim/calibrate/cuda/stack_kernels.hpp"

namespace tsim::calibrate {

/// Communicators of the devices 0 to count - 1; one replica needs none, and no NCCL.
class Replicas {
 public:
  explicit Replicas(int count);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;
  int count() const { return count_; }
  /// Adds up `values` over the replicas, in buckets.
  void sum(int replica, Half* values, std::size_t count, cudaStream_t stream) const;

 private:
  struct State;
  int count_ = 1;
  std::unique_ptr<State> state_;
};

}  // namespace tsim::calibrate
