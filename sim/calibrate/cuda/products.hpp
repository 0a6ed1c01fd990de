// Times of matrix products by cuBLASLt.
#pragma once

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

/// C[m, n] = sum over k, row-major. Layouts name what is stored:
///   nt: A[m, k] B[n, k]   a layer's forward, y = x W^T
///   nn: A[m, k] B[k, n]   the gradient of its input, dx = dy W
///   tn: A[k, m] B[k, n]   the gradient of its weight, dW = dy^T x
///   tn+: the same, added to an fp32 C
struct Product {
  std::string dtype, layout;
  long batch = 1, m = 0, n = 0, k = 0;
};

/// With the operands in the cache (as far as they fit) or not.
Summary time_product(const Product& product, bool cold, cudaStream_t stream);

/// A product that others time beside something else; calls are enqueued by operator().
class RunningProduct {
 public:
  RunningProduct(const Product& product, bool cold, cudaStream_t stream);
  ~RunningProduct();
  RunningProduct(RunningProduct&&) noexcept;
  RunningProduct& operator=(RunningProduct&&) noexcept;
  void operator()(int call) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "13.1.0"
std::string blas_version();

}  // namespace tsim::calibrate
