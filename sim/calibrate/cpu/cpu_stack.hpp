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

  CpuOps(const StackShape& shape, int threads);

  float* values(std::size_t count);
  float* floats(std::size_t count) { return values(count); }
  float* weights() { return weights_; }
  float* gradients() { return gradients_; }

  void product(const StackProduct& p, const float* a, const float* b, float* c, const float* bias);
  void norm(const float* x, const float* w, const float* b, float* y, float* kept, long rows,
            long columns);
  void norm_back(const float* x, const float* w, const float* kept, const float* dy, float* dx,
                 float* dw, float* db, long rows, long columns);
  void bias_gelu(const float* x, const float* bias, float* y, long rows, long columns);
  void gelu_back(const float* x, const float* bias, const float* dy, float* dx, long rows,
                 long columns);
  void bias_add(const float* x, const float* bias, const float* residual, float* y, long rows,
                long columns);
  void add(const float* x, const float* y, float* out, long count);
  void bias_back(const float* dy, float* db, long rows, long columns);
  void attention(std::size_t layer, const float* qkv, float* out);
  void attention_back(std::size_t layer, const float* qkv, const float* out, const float* dout,
                      float* dqkv);
  void embed(const float* table, const float* positions, float* x);
  void embed_back(const float* dx, float* dtable, float* dpositions);
  void loss(const float* logits);
  void loss_back(float* logits);  // to their gradients
  void adam();
  void reduce_tensor(const float*, long) {}
  void gradients_ready(std::size_t, std::size_t) {}
  void reduce_data() {}

  /// Mean loss of a token in the last forward.
  double mean_loss() const;
  /// Bytes of all arrays.
  double memory() const { return memory_; }
  /// Seconds of each class since the last call.
  std::array<double, kStackClasses> take_times();

 private:
  class Timer;
  Rows rows(long count, long columns) const;
  std::size_t token(std::size_t row) const;

  StackShape s_;
  int threads_ = 1;
  std::deque<std::vector<float>> arrays_;
  double memory_ = 0;
  std::size_t parameters_ = 0;
  float *weights_ = nullptr, *gradients_ = nullptr, *first_ = nullptr, *second_ = nullptr;
  std::vector<float*> shares_;  // by layer: [samples, heads, queries, keys]
  float *scores_ = nullptr, *losses_ = nullptr, *loss_kept_ = nullptr;
  std::array<double, kStackClasses> times_{};
};

/// Runs a warm-up and several steps; `seconds` bounds them.
StackTimes run_cpu_stack(const StackShape& shape, double seconds);

}  // namespace tsim::calibrate
