// What the devices of a stack send one another; a thread drives each device.
#pragma once

#include <memory>

#include "sim/calibrate/cuda/stack_kernels.hpp"
#include "sim/calibrate/stack/stack_shape.hpp"

namespace tsim::calibrate {

/// Where a device stands: tensor ranks are neighbours, then stages, then replicas.
struct StackRank {
  long tensor = 0, stage = 0, replica = 0;
};
StackRank rank_of(const StackShape& shape, int device);

/// Communicators of all devices of a stack; one device needs none, and no NCCL. Throws NotHere when
/// there are fewer.
class World {
 public:
  explicit World(const StackShape& shape);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

 private:
  friend class Exchange;
  struct State;
  std::unique_ptr<State> state_;
};

/// One device's part. All devices' threads make theirs at the same time.
class Exchange {
 public:
  Exchange(const World& world, const StackShape& shape, int device);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Sums over the tensor ranks, over the replicas and over those that hold the same experts, in
  /// buckets; over the first and the last stage.
  void sum_tensor(Half* values, std::size_t count, cudaStream_t stream) const;
  void sum_data(Half* values, std::size_t count, cudaStream_t stream) const;
  void sum_experts(Half* values, std::size_t count, cudaStream_t stream) const;
  void sum_ends(Half* values, std::size_t count, cudaStream_t stream) const;
  /// `count` values to each of the ranks that share experts, and as many from each.
  void all_to_all(const Half* from, Half* to, std::size_t count, cudaStream_t stream) const;
  /// To the next stage (`forward`) or the one before.
  void send(const Half* values, std::size_t count, bool forward, cudaStream_t stream) const;
  /// From the stage before (`forward`) or the next.
  void receive(Half* values, std::size_t count, bool forward, cudaStream_t stream) const;

 private:
  /// Sends one value each way, from stage to stage.
  void connect_stages() const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tsim::calibrate
