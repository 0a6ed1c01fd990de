// What a stack asks of a device's kernels.
#pragma once

#include "sim/calibrate/stack/stack_shape.hpp"

namespace tsim::calibrate {

/// As matrices are stored, see products.hpp: C[m, n] = sum over k.
enum class Layout { nt, nn, tn };
struct StackProduct {
  Layout layout{};
  long m = 0, n = 0, k = 0;
};

struct StackRows {
  long rows = 0, columns = 0;
};

/// Weight and bias of a norm.
template <typename Value>
struct Affine {
  const Value *weight = nullptr, *bias = nullptr;
};
/// What the gradient of a norm is made of: its input, its weight, mean and 1 / deviation of each
/// row, and the gradient of its result.
template <typename Value>
struct NormUpstream {
  const Value *x = nullptr, *weight = nullptr;
  const float* kept = nullptr;
  const Value* dy = nullptr;
};
template <typename Value>
struct NormGradient {
  Value *x = nullptr, *weight = nullptr, *bias = nullptr;
};

/// Rows that experts gave, and the share that each has in its token's result.
template <typename Value>
struct ExpertResults {
  const Value* rows = nullptr;
  const float* shares = nullptr;
};

// Ops has, with x, y and so on arrays of its Value on its device:
//   values(n), floats(n): memory; weights(), gradients(first): all parameters, and where a
//     micro-batch's gradients go; accumulate(): adds them to those of the first
//   product(p, a, b, c, bias or null), norm(rows, x, affine, y, kept), norm_back(rows, upstream,
//     gradient), bias_gelu(rows, x, bias, y), gelu_back(rows, x, bias, dy, dx),
//     bias_add(rows, x, bias or null, residual, y), bias_back(rows, dy, dbias),
//     attention(layer, qkv, out), attention_back(layer, qkv, out, dout, dqkv),
//     embed(table, positions, x), embed_back(dx, dtable, dpositions): adds to dtable, clear(x, n),
//     loss(logits), loss_back(logits): to their gradients, adam()
//   reduce_tensor(x, n): the sum over tensor ranks; gradients_ready(from, to), experts_ready(from,
//     to): the replicas' sum may start; reduce_data(): it is there
//   receive_forward(x, n), receive_backward(n): ask the stage before or behind; await_forward(),
//     await_backward(): what was asked for first is there; send_forward(x, n), send_backward(x, n);
//     room_backward(): memory for what is sent back next; sum_embedding(at, n): gradients of the
//     first and the last stage
//   route(scores, shares): a token's share for each of its experts; permute(x, rows): a copy for
//     each, by expert; dispatch(rows, y): to the ranks that hold them, there by expert; collect(y,
//     rows): back; combine(rows, shares, x): a token's results by their shares; and their
//     gradients route_back(scores, dshares, dscores), combine_back(dx, results, drows,
//     dshares), permute_back(drows, dx)

/// The expert that gets choice `choice` of token `token`: each as many of them.
inline long expert_of(long token, long choice, long experts) { return (token + choice) % experts; }

/// Where a token's copy stands among the rows sorted by expert. Of an expert's rows, those whose
/// first choice it is come first.
inline long place_of(long token, long choice, const StackShape& s) {
  const long each = s.tokens() / s.experts;  // tokens that have one expert as the same choice
  return (expert_of(token, choice, s.experts) * s.top_k + choice) * each + token / s.experts;
}

}  // namespace tsim::calibrate
