// The kernels of a Transformer in fp32 on this machine's processor, each on all threads.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/calibrate/stack/stack_ops.hpp"

namespace tsim::calibrate {

/// From the first to before the last.
struct Part {
  std::size_t from = 0, to = 0;
};

/// Runs `work` on equal parts of 0 to `size`, the last one on this thread.
void in_parts(std::size_t size, int threads, const std::function<void(Part)>& work);

/// Rows of a matrix in memory.
struct Rows {
  std::size_t rows = 0, columns = 0;
  int threads = 1;
};

/// C[m, n] as stack.hpp's layouts say; `bias` [n] is added where there is one. Rows of the result
/// are dealt to the threads.
struct HostProduct {
  StackProduct shape;
  int threads = 1;
};
void host_product(const HostProduct& p, const float* a, const float* b, float* c,
                  const float* bias = nullptr);

/// Layer norm [arXiv:1607.06450]; `kept` [rows, 2] gets mean and 1 / deviation.
void host_norm(const Rows& r, const float* x, const Affine<float>& affine, float* y, float* kept);
void host_norm_back(const Rows& r, const NormUpstream<float>& up, const NormGradient<float>& to);

/// GELU in its tanh form [arXiv:1606.08415] of x plus a row's bias; null: no bias.
void host_gelu(const Rows& r, const float* x, const float* bias, float* y);
void host_gelu_back(const Rows& r, const float* x, const float* bias, const float* dy, float* dx);
/// y = x + bias + residual; null: without.
void host_add(const Rows& r, const float* x, const float* bias, const float* residual, float* y);
/// Sum of the rows of x.
void host_column_sum(const Rows& r, const float* x, float* sum);

void host_softmax(const Rows& r, const float* x, float* y);
void host_softmax_back(const Rows& r, const float* y, const float* dy, float* dx);
/// Losses of the rows against target_of(row); `kept` [rows, 2] gets largest value and sum.
void host_cross_entropy(const Rows& r, const float* x, float* kept, float* loss);
void host_cross_entropy_back(const Rows& r, const float* x, const float* kept, float* dx);
/// The column that row `row` shall learn.
inline std::size_t target_of(std::size_t row, std::size_t columns) { return row * 7 % columns; }

/// One step of Adam [arXiv:1412.6980] without the bias corrections.
struct AdamState {
  float *weight = nullptr, *first = nullptr, *second = nullptr;
};
void host_adam(std::size_t size, int threads, const float* gradient, const AdamState& state);

}  // namespace tsim::calibrate
