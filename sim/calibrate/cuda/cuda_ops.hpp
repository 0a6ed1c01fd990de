// Kernels for Stack on one device.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/calibrate/cuda/attention.hpp"
#include "sim/calibrate/cuda/exchange.hpp"
#include "sim/calibrate/cuda/expert_kernels.hpp"
#include "sim/calibrate/cuda/products.hpp"
#include "sim/calibrate/stack/stack.hpp"

namespace tsim::calibrate {

class CudaOps {
 public:
  using Value = Half;

  /// On the current device, which holds `stage`.
  CudaOps(const StackShape& shape, const Exchange& exchange, long stage);

  Half* values(std::size_t count) { return array(count * sizeof(Half)).as<Half>(); }
  float* floats(std::size_t count) { return array(count * sizeof(float)).as<float>(); }
  Half* weights() { return weights_; }
  Half* gradients(bool first) { return first ? gradients_ : more_gradients_; }

  void product(const StackProduct& p, const Half* a, const Half* b, Half* c, const Half* bias);
  void norm(const StackRows& r, const Half* x, const Affine<Half>& affine, Half* y, float* kept);
  void norm_back(const StackRows& r, const NormUpstream<Half>& up, const NormGradient<Half>& to);
  void bias_gelu(const StackRows& r, const Half* x, const Half* bias, Half* y);
  void gelu_back(const StackRows& r, const Half* x, const Half* bias, const Half* dy, Half* dx);
  void bias_add(const StackRows& r, const Half* x, const Half* bias, const Half* residual, Half* y);
  void bias_back(const StackRows& r, const Half* dy, Half* db);
  void attention(std::size_t layer, const Half* qkv, Half* out);
  void attention_back(std::size_t layer, const Half* qkv, const Half* out, const Half* dout,
                      Half* dqkv);
  void embed(const Half* table, const Half* positions, Half* x);
  void embed_back(const Half* dx, Half* dtable, Half* dpositions);
  void loss(const Half* logits);
  void loss_back(Half* logits);
  void adam();
  void clear(Half* x, long count);
  void accumulate();

  void route(const Half* scores, float* shares);
  void permute(const Half* x, Half* rows);
  void combine(const Half* rows, const float* shares, Half* x);
  void route_back(const Half* scores, const float* dshares, Half* dscores);
  void combine_back(const Half* dx, const ExpertResults<Half>& results, Half* drows,
                    float* dshares);
  void permute_back(const Half* drows, Half* dx);
  void dispatch(const Half* rows, Half* y);
  void collect(const Half* y, Half* rows);

  void reduce_tensor(Half* x, long count);
  void gradients_ready(std::size_t from, std::size_t to);
  void experts_ready(std::size_t from, std::size_t to);
  void reduce_data();
  void receive_forward(Half* x, long count);
  void receive_backward(long count);
  void await_forward();
  const Half* await_backward();
  void send_forward(const Half* x, long count);
  void send_backward(const Half* x, long count);
  Half* room_backward();
  void sum_embedding(std::size_t at, long count);

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
  void start(const StackPlaces& places);
  void make_experts();
  Routed routed() const;
  /// `to` waits for what `from` holds by now.
  static void order(cudaStream_t from, cudaStream_t to);
  long heads() const { return s_.heads / s_.tensor; }
  long local() const { return heads() * s_.width(); }

  /// A stream of its own for each way, and what is under way there: the arrays, oldest first, and
  /// when each is through.
  struct Way {
    Stream stream;
    std::deque<std::pair<Half*, Event>> under_way;
  };
  /// Waits on the compute stream for the oldest and forgets it.
  Half* await(Way& way);
  void receive(Way& way, Half* x, long count, bool forward);
  /// The two arrays in turn.
  struct Pair {
    std::array<Half*, 2> arrays{};
    std::size_t next = 0;
    Half* take() { return arrays.at(next++ % 2); }
  };

  StackShape s_;
  const Exchange& exchange_;
  Stream stream_, sums_;
  Way receive_forward_, receive_backward_, send_forward_, send_backward_;
  Pair received_, sent_;
  std::deque<Buffer> arrays_;
  std::size_t parameters_ = 0;
  Half *weights_ = nullptr, *gradients_ = nullptr, *more_gradients_ = nullptr;
  float *master_ = nullptr, *first_ = nullptr, *second_ = nullptr;
  Blas blas_;
  std::map<std::tuple<Layout, long, long, long, bool>, ProductPlan> plans_;
  FusedAttention attention_;
  std::map<std::size_t, int> forward_bound_, backward_bound_;
  std::vector<float*> stats_;
  Half* dparts_ = nullptr;  // gradients of queries, keys and values
  float *logits_ = nullptr, *dlogits_ = nullptr, *losses_ = nullptr, *loss_kept_ = nullptr;
  float *partial_ = nullptr, *widened_ = nullptr;
  std::size_t widened_room_ = 0;
  int *places_ = nullptr, *chosen_ = nullptr;  // of copies of tokens
  Half* exchanged_ = nullptr;                  // rows by the rank that they came from
  struct Mark {
    StackClass which{};
    Event event{};
  };
  std::vector<Mark> marks_;
  bool marking_ = false;
};

}  // namespace tsim::calibrate
