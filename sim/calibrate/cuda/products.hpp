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

/// `product.batch` products of one shape with operands of their own, as grouped products of experts
/// run in Transformer Engine: each by a call of its own, on four streams in turn. The operands are
/// in the cache as far as all of them fit.
Summary time_groups(const Product& product, cudaStream_t stream);

/// The library and the memory that its kernels work in; products of one stream share it.
class Blas {
 public:
  Blas();
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

 private:
  friend class ProductPlan;
  struct State;
  std::unique_ptr<State> state_;
};

/// One shape's kernel, on memory of others.
class ProductPlan {
 public:
  /// `biased`: a row of n values is added to every row of C.
  ProductPlan(const Blas& blas, const Product& product, bool biased = false);
  ~ProductPlan();
  ProductPlan(ProductPlan&&) noexcept;
  ProductPlan& operator=(ProductPlan&&) noexcept;
  struct Operands {
    const void *a = nullptr, *b = nullptr;
    void* c = nullptr;
    const void* bias = nullptr;
  };
  void run(const Operands& operands, cudaStream_t stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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
