// Fused attention by cuDNN: forward and backward without the scores in memory.
#pragma once

#include <memory>
#include <string>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

/// softmax(Q K^T / sqrt(width)) V for each of heads x samples. Where a mask is causal, query i sees
/// keys 0 to i.
struct AttentionShape {
  std::string dtype = "bf16";
  long samples = 1, heads = 1, queries = 1, keys = 1, width = 64;
  bool causal = false;
  /// Elements from one token to the next and from one head to the next; 0: dense [samples, heads,
  /// tokens, width].
  long token_stride = 0, out_token_stride = 0;  // of q, k, v; of the result and all gradients
};

/// One attention and its gradient on memory of others.   [arXiv:2205.14135]
class FusedAttention {
 public:
  struct Tensors {
    void *q = nullptr, *k = nullptr, *v = nullptr, *out = nullptr;
    void* stats = nullptr;  // fp32 [samples, heads, queries]: log of the sums
    void *dout = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
  };
  /// `backward` makes the gradient's kernels too. NotHere without cuDNN, or when it has no kernel.
  FusedAttention(const AttentionShape& shape, bool forward, bool backward);
  ~FusedAttention();
  FusedAttention(FusedAttention&&) noexcept;
  FusedAttention& operator=(FusedAttention&&) noexcept;
  /// A call's tensors are bound once; forward() and backward() take the number.
  int bind_forward(const Tensors& tensors);
  int bind_backward(const Tensors& tensors);
  void forward(int bound, cudaStream_t stream) const;
  void backward(int bound, cudaStream_t stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// With the heads of a token side by side in memory, and the operands in the cache (as far as they
/// fit) or not.
Summary time_attention(AttentionShape shape, bool backward, bool cold, cudaStream_t stream);

/// "9.14.0", or "" when tsim was built without cuDNN.
std::string dnn_version();

}  // namespace tsim::calibrate
