// Kernels for Stack on one device.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/calibrate/cuda/attention.hpp"
#include "sim/calibrate/cuda/products.hpp"
#include "sim/calibrate/cuda/replicas.hpp"
#include "sim/calibrate/stack/stack.hpp"

namespace tsim::calibrate {

class CudaOps {
 public:
  using Value = Half;

  /// The current device is replica's.
  CudaOps(const StackShape& shape, const Replicas& replicas, int replica);

  Half* values(std::size_t count) { return array(count * sizeof(Half)).as<Half>(); }
  float* floats(std::size_t count) { return array(count * sizeof(float)).as<float>(); }
  Half* weights() { return weights_; }
  Half* gradients() { return gradients_; }

  void product(const StackProduct& p, const Half* a, const Half* b, Half* c, const Half* bias);
  void norm(const Half* x, const Half* w, const Half* b, Half* y, float* kept, long rows,
            long columns);
  void norm_back(const Half* x, const Half* w, const float* kept, const Half* dy, Half* dx,
                 Half* dw, Half* db, long rows, long columns);
  void bias_gelu(const Half* x, const Half* bias, Half* y, long rows, long columns);
  void gelu_back(const Half* x, const Half* bias, const Half* dy, Half* dx, long rows,
                 long columns);
  void bias_add(const Half* x, const Half* bias, const Half* residual, Half* y, long rows,
                long columns);
  void add(const Half* x, const Half* y, Half* out, long count);
  void bias_back(const Half* dy, Half* db, long rows, long columns);
  void attention(std::size_t layer, const Half* qkv, Half* out);
  void attention_back(std::size_t layer, const Half* qkv, const Half* out, const Half* dout,
                      Half* dqkv);
  void embed(const Half* table, const Half* positions, Half* x);
  void embed_back(const Half* dx, Half* dtable, Half* dpositions);
  void loss(const Half* logits);
  void loss_back(Half* logits);
  void adam();
  void reduce_tensor(const Half*, long) {}
  void gradients_ready(std::size_t from, std::size_t to);
  void reduce_data();

  cudaStream_t stream() const { return stream_; }
  /// From now on, events between all kernels.
  void start_marks();
  /// Seconds of each class since then; ends it.
  std::array<double, kStackClasses> take_times();
  double mean_loss() const;

 private:
  const Buffer& array(std::size_t bytes);
  const ProductPlan& plan(const StackProduct& p, bool biased);
  int bound(std::size_t layer, const FusedAttention::Tensors& tensors);
  EmbedShape embed_shape() const;
  void mark(StackClass which);
  void start();

  StackShape s_;
  const Replicas& replicas_;
  int replica_ = 0;
  Stream stream_, exchange_;
  Event ready_, summed_;
  std::deque<Buffer> arrays_;
  std::size_t parameters_ = 0;
  Half *weights_ = nullptr, *gradients_ = nullptr;
  float *master_ = nullptr, *first_ = nullptr, *second_ = nullptr;
  Blas blas_;
  std::map<std::tuple<Layout, long, long, long, bool>, ProductPlan> plans_;
  FusedAttention attention_;
  std::map<std::size_t, int> forward_bound_, backward_bound_;
  std::vector<float*> stats_;
  Half* dparts_ = nullptr;  // gradients of queries, keys and values
  float *logits_ = nullptr, *dlogits_ = nullptr, *losses_ = nullptr, *loss_kept_ = nullptr;
  float* partial_ = nullptr;
  struct Mark {
    StackClass which{};
    Event event{};
  };
  std::vector<Mark> marks_;
  bool marking_ = false;
};

}  // namespace tsim::calibrate
