// The stack of a check on this machine's processor.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <vector>

#include "sim/calibrate/cpu/host_kernels.hpp"
#include "sim/calibrate/stack/stack.hpp"

namespace tsim::calibrate {

/// Kernels for Stack in fp32; one device.
class CpuOps {
 public:
  using Value = float;

  CpuOps(StackShape shape, int threads, long stage = 0);

  float* values(std::size_t count);
  float* floats(std::size_t count) { return values(count); }
  float* weights() { return weights_; }
  /// Of the first micro-batch, to which the others' are added.
  float* gradients(bool first) { return first ? gradients_ : more_gradients_; }
  void accumulate();

  void product(const StackProduct& p, const float* a, const float* b, float* c, const float* bias);
  void norm(const StackRows& r, const float* x, const Affine<float>& affine, float* y, float* kept);
  void norm_back(const StackRows& r, const NormUpstream<float>& up, const NormGradient<float>& to);
  void bias_gelu(const StackRows& r, const float* x, const float* bias, float* y);
  void gelu_back(const StackRows& r, const float* x, const float* bias, const float* dy, float* dx);
  void bias_add(const StackRows& r, const float* x, const float* bias, const float* residual,
                float* y);
  void bias_back(const StackRows& r, const float* dy, float* db);
  void attention(std::size_t layer, const float* qkv, float* out);
  void attention_back(std::size_t layer, const float* qkv, const float* out, const float* dout,
                      float* dqkv);
  void embed(const float* table, const float* positions, float* x);
  void embed_back(const float* dx, float* dtable, float* dpositions);
  void loss(const float* logits);
  void loss_back(float* logits);  // to their gradients
  void adam();
  static void clear(float* x, long count);

  void route(const float* scores, float* shares);
  void permute(const float* x, float* rows) const;
  void combine(const float* rows, const float* shares, float* x) const;
  void route_back(const float* scores, const float* dshares, float* dscores);
  void combine_back(const float* dx, const ExpertResults<float>& results, float* drows,
                    float* dshares) const;
  void permute_back(const float* drows, float* dx) const;

  // A single device has no one to exchange with.
  void dispatch(const float*, float*) const {}
  void collect(const float*, float*) const {}
  void reduce_tensor(float*, long) {}
  void gradients_ready(std::size_t, std::size_t) {}
  void experts_ready(std::size_t, std::size_t) {}
  void reduce_data() {}
  void receive_forward(float*, long) {}
  void receive_backward(long) {}
  void await_forward() {}
  const float* await_backward() { return nullptr; }
  void send_forward(const float*, long) {}
  void send_backward(const float*, long) {}
  float* room_backward() { return nullptr; }
  void sum_embedding(std::size_t, long) {}

  /// Mean loss of a token in the last forward.
  double mean_loss() const;
  /// Bytes of all arrays.
  double memory() const { return memory_; }
  /// Seconds of each class since the last call.
  std::array<double, kStackClasses> take_times();

 private:
  class Timer;
  Rows rows(const StackRows& r) const;
  long heads() const { return s_.heads / s_.tensor; }
  long places() const { return s_.tokens() * s_.top_k; }
  std::size_t token(std::size_t row) const;

  StackShape s_;
  int threads_ = 1;
  std::deque<std::vector<float>> arrays_;
  double memory_ = 0;
  std::size_t parameters_ = 0;
  float *weights_ = nullptr, *gradients_ = nullptr, *more_gradients_ = nullptr, *first_ = nullptr,
        *second_ = nullptr;
  std::vector<float*> shares_;  // by layer and micro-batch: [samples, heads, queries, keys]
  float *scores_ = nullptr, *losses_ = nullptr, *loss_kept_ = nullptr;
  std::array<double, kStackClasses> times_{};
};

/// Runs a warm-up and several steps; `seconds` bounds them.
StackTimes run_cpu_stack(const StackShape& shape, double seconds);

}  // namespace tsim::calibrate
