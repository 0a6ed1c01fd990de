// What an optimizer keeps, and what one of its steps moves and computes.
#pragma once

#include <cstdint>

#include "cost/device.hpp"
#include "models/units.hpp"
#include "strategies/strategy.hpp"
#include "strategies/weight_shapes.hpp"

namespace tsim::strategies {

/// Trained elements, of which `shapes` names those that are no norm or bias; an optimizer steps one
/// of `shards` equal shares of them, rounded up.
struct Weights {
  std::int64_t elements = 0;
  WeightShapes shapes{};
  std::int64_t shards = 1;
};

/// One of `shards` equal shares.  shards >= 1.
Weights share_of(const Weights& weights, std::int64_t shards);
/// Elements of the share.
std::int64_t own_elements(const Weights& weights);

/// Moments of an element whose shape the optimizer does not use.
int moments_of(Optimizer optimizer);

/// Bytes of an element's gradient: what accumulates, and the copy that the backward writes.
int gradient_size(const Precision& precision);

/// All weights, shared or not, as they are kept. With fp8 copies besides: one byte for each element
/// of a product's weight and copy, and their scales: one fp32 for each block [arXiv:2412.19437,
/// sec. 3.3], or for a product's three tensors a scale, its inverse and a history of 1,024 largest
/// values [Transformer Engine, DelayedScaling].
Bytes parameter_bytes(const Weights& weights, const Precision& precision);

/// Master copy and moments:
///  adam, adamw, lamb 2 moments, sgd_momentum 1, sgd none;
///  adafactor  one value for each row and each column of a matrix, for each element of a vector
///             [arXiv:1804.04235, alg. 4, without a first moment];
///  adam_8bit  2 moments of one byte, an fp32 scale for every 2,048 of them [arXiv:2110.02861,
///             sec. 2.1];
///  muon       1 moment of products, 2 (Adam's) of tables and vectors [arXiv:2502.16982, sec. 2].
Bytes optimizer_bytes(const Weights& weights, const Strategy& strategy);

/// Device memory that one step reads and writes: the gradient is read and cleared, states are read
/// and written, the weight is written; with master weights 16-bit gradients are widened first, and
/// the weights are copied from the master ones. Passes of their own over the gradients: norm
/// (read), clipping (read, written), unscaling (read, written). LAMB writes its update in the
/// gradient's place, reads it for its norm and to apply it, and reads the weight for its norm and
/// again [arXiv:1904.00962, alg. 2; NVIDIA apex, FusedLAMB]; Adafactor reads the gradient for the
/// sums and for the update's norm, and the weight for its norm. fp8 copies are made of the new
/// weight.
Bytes optimizer_traffic(const Weights& weights, const Strategy& strategy);

/// Products of Muon's five Newton-Schulz iterations on each matrix X [a, b], a <= b: A = X X^T,
/// A A, and (bA + cAA) X: 4 a^2 b + 2 a^3 each time. Of several shares, each takes whole matrices.
/// [arXiv:2502.16982, eq. 2]
Flops muon_flops(const Weights& weights);

/// Of one step: its traffic, and Muon's products in bf16.
Seconds optimizer_time(const Weights& weights, const Strategy& strategy,
                       const cost::Device& device);

}  // namespace tsim::strategies
