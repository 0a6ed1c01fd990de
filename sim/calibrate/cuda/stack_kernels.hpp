// The kernels of a stack in bf16, each on memory of others. Columns are multiples of 8.
#pragma once

#include <cuda_bf16.h>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

using Half = __nv_bfloat16;

struct RowShape {
  int rows = 0, columns = 0;
};

struct NormArrays {
  const Half *x = nullptr, *w = nullptr, *b = nullptr, *dy = nullptr;
  Half* y = nullptr;      // forward: the result; backward: the gradient of x
  float* kept = nullptr;  // [rows, 2]
  float* partial = nullptr;
  Half *dw = nullptr, *db = nullptr;
};
void run_norm(const RowShape& r, const NormArrays& a, cudaStream_t stream);
void run_norm_back(const RowShape& r, const NormArrays& a, cudaStream_t stream);
/// Floats that `partial` needs.
std::size_t norm_partial(int columns);

struct LossArrays {
  const float* x = nullptr;
  float *kept = nullptr, *loss = nullptr, *dx = nullptr;
};
void run_cross_entropy(const RowShape& r, const LossArrays& a, bool backward, cudaStream_t stream);

struct AdamArrays {
  const float* gradient = nullptr;
  float *weight = nullptr, *first = nullptr, *second = nullptr;
};
/// A multiple of 4 parameters.
void run_adam(const AdamArrays& a, std::size_t count, cudaStream_t stream);

/// y = GELU(x + bias of the column), and its gradient.
void run_bias_gelu(const RowShape& r, const Half* x, const Half* bias, Half* y,
                   cudaStream_t stream);
struct GeluBack {
  const Half *x = nullptr, *bias = nullptr, *dy = nullptr;
  Half* dx = nullptr;
};
void run_gelu_back(const RowShape& r, const GeluBack& a, cudaStream_t stream);
/// y = x + bias of the column (null: none) + residual.
struct BiasAdd {
  const Half *x = nullptr, *bias = nullptr, *residual = nullptr;
  Half* y = nullptr;
};
void run_bias_add(const RowShape& r, const BiasAdd& a, cudaStream_t stream);
/// Sums over the rows. `partial`: column_partial() floats.
void run_column_sum(const RowShape& r, const Half* x, float* partial, Half* sum,
                    cudaStream_t stream);
std::size_t column_partial(int columns);
void run_widen(const Half* x, float* y, std::size_t count, cudaStream_t stream);
void run_narrow(const float* x, Half* y, std::size_t count, cudaStream_t stream);
/// Three matrices [rows, columns] side by side.
void run_join(const RowShape& r, const Half* parts, Half* out, cudaStream_t stream);

/// Words of a sample come again after `vocab` places; see token_at().
struct EmbedShape {
  int tokens = 0, sequence = 0, vocab = 0, columns = 0;
};
void run_embed(const EmbedShape& e, const Half* table, const Half* positions, Half* x,
               cudaStream_t stream);
/// Adds to `dtable`; writes `dpositions`.
void run_embed_back(const EmbedShape& e, const Half* dx, Half* dtable, Half* dpositions,
                    cudaStream_t stream);
/// fp32 weights as the processor's stack starts with, and their bf16 copy.
void run_start(float* weights, Half* copy, std::size_t count, cudaStream_t stream);
void run_set(float* weights, Half* copy, float value, std::size_t count, cudaStream_t stream);

}  // namespace tsim::calibrate
