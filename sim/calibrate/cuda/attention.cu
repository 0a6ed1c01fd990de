#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sim/calibrate/cuda/attention.hpp"
#include "sim/calibrate/cuda/dnn_graph.hpp"

namespace tsim::calibrate {

#ifdef TSIM_HAVE_CUDNN

namespace {

using Four = DnnGraph::Four;

/// Dims and strides of the operands of an attention.
struct Shapes {
  explicit Shapes(const AttentionShape& a)
      : type(a.dtype == "fp16" ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        q{a.samples, a.heads, a.queries, a.width},
        k{a.samples, a.heads, a.keys, a.width},
        scores{a.samples, a.heads, a.queries, a.keys},
        column{a.samples, a.heads, a.queries, 1},
        q_strides(strides(q, a.token_stride)),
        k_strides(strides(k, a.token_stride)),
        out_strides(strides(q, a.out_token_stride)),
        dk_strides(strides(k, a.out_token_stride)),
        scale(1.0F / std::sqrt(static_cast<float>(a.width))),
        causal(a.causal) {
    if (a.dtype == "fp32") { throw NotHere("fused attention is timed in bf16 and fp16"); }
  }
  static Four strides(const Four& dims, long token) {
    return token == 0 ? dense(dims) : Four{dims[2] * token, dims[3], token, 1};
  }
  static Four turned(Four four) {
    std::swap(four[2], four[3]);
    return four;
  }

  cudnnDataType_t type;
  Four q, k, scores, column;
  Four q_strides, k_strides, out_strides, dk_strides;
  float scale;
  bool causal;
};

/// `scores` where the key is not after the query, else minus infinity.
int masked(DnnGraph& g, const Shapes& s, int scores) {
  if (!s.causal) { return scores; }
  const int row = g.hidden(s.scores, CUDNN_DATA_INT32);
  const int column = g.hidden(s.scores, CUDNN_DATA_INT32);
  const int seen = g.hidden(s.scores, CUDNN_DATA_BOOLEAN);
  const int result = g.hidden(s.scores);
  const int never = g.scalar(-std::numeric_limits<float>::infinity());
  g.pointwise({CUDNN_POINTWISE_GEN_INDEX, scores, -1, -1, 2, CUDNN_DATA_INT32}, row);
  g.pointwise({CUDNN_POINTWISE_GEN_INDEX, scores, -1, -1, 3, CUDNN_DATA_INT32}, column);
  g.pointwise({CUDNN_POINTWISE_CMP_GE, row, column, -1, -1, CUDNN_DATA_BOOLEAN}, seen);
  g.pointwise({CUDNN_POINTWISE_BINARY_SELECT, scores, never, seen}, result);
  return result;
}

/// Numbers of a graph's stored tensors; -1 where it has none.
struct Stored {
  int q = -1, k = -1, v = -1, out = -1, stats = -1, dout = -1, dq = -1, dk = -1, dv = -1;
  int sums = -1, dq_sum = -1;
};

int scaled_scores(DnnGraph& g, const Shapes& s, int q, int k_turned, int scale) {
  const int product = g.hidden(s.scores);
  const int scores = g.hidden(s.scores);
  g.multiply(q, k_turned, product);
  g.pointwise({CUDNN_POINTWISE_MUL, product, scale}, scores);
  return scores;
}

Stored build_forward(DnnGraph& g, const Shapes& s) {
  Stored t;
  t.q = g.stored(s.q, s.q_strides, s.type);
  t.k = g.stored(Shapes::turned(s.k), Shapes::turned(s.k_strides), s.type);
  t.v = g.stored(s.k, s.k_strides, s.type);
  t.out = g.stored(s.q, s.out_strides, s.type);
  t.stats = g.stored(s.column, dense(s.column), CUDNN_DATA_FLOAT);
  const int scores = masked(g, s, scaled_scores(g, s, t.q, t.k, g.scalar(s.scale)));
  const int most = g.hidden(s.column);
  const int below = g.hidden(s.scores);
  const int powers = g.hidden(s.scores);
  const int sum = g.hidden(s.column);
  const int log = g.hidden(s.column);
  const int shares = g.hidden(s.scores, s.type);
  g.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
  g.pointwise({CUDNN_POINTWISE_SUB, scores, most}, below);
  g.pointwise({CUDNN_POINTWISE_EXP, below}, powers);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  g.pointwise({CUDNN_POINTWISE_LOG, sum}, log);
  g.pointwise({CUDNN_POINTWISE_ADD, most, log}, t.stats);
  g.pointwise({CUDNN_POINTWISE_DIV, powers, sum}, shares);
  g.multiply(shares, t.v, t.out);
  return t;
}

/// dS = P (dP - sum over keys of dO O), and from it the gradients.   [arXiv:2205.14135, app. B.4]
Stored build_backward(DnnGraph& g, const Shapes& s) {
  Stored t;
  const Four k_turned = Shapes::turned(s.k);
  const Four k_turned_strides = Shapes::turned(s.k_strides);
  t.q = g.stored(s.q, s.q_strides, s.type);
  t.k = g.stored(k_turned, k_turned_strides, s.type);
  t.v = g.stored(k_turned, k_turned_strides, s.type);
  t.out = g.stored(s.q, s.out_strides, s.type);
  t.dout = g.stored(s.q, s.out_strides, s.type);
  t.stats = g.stored(s.column, dense(s.column), CUDNN_DATA_FLOAT);
  t.dq = g.stored(s.q, s.out_strides, s.type);
  t.dk = g.stored(s.k, s.dk_strides, s.type);
  t.dv = g.stored(s.k, s.dk_strides, s.type);
  t.sums = g.stored(s.column, dense(s.column), CUDNN_DATA_FLOAT);
  t.dq_sum = g.stored(s.q, dense(s.q), CUDNN_DATA_FLOAT);
  const int scale = g.scalar(s.scale);

  const int products = g.hidden(s.q, CUDNN_DATA_FLOAT);
  const int unscaled = g.hidden(s.column);
  g.pointwise({CUDNN_POINTWISE_MUL, t.dout, t.out}, products);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, products, unscaled);
  g.pointwise({CUDNN_POINTWISE_MUL, unscaled, g.scalar(1.0F)}, t.sums);

  const int below = g.hidden(s.scores);
  const int powers = g.hidden(s.scores);
  g.pointwise({CUDNN_POINTWISE_SUB, scaled_scores(g, s, t.q, t.k, scale), t.stats}, below);
  g.pointwise({CUDNN_POINTWISE_EXP, masked(g, s, below)}, powers);
  const Four across = Shapes::turned(s.scores);
  const Four across_strides = Shapes::turned(dense(s.scores));
  const int powers_turned = g.hidden(across, across_strides, s.type);
  g.reshape(powers, powers_turned);
  g.multiply(powers_turned, t.dout, t.dv);

  const int dpowers = g.hidden(s.scores);
  const int centred = g.hidden(s.scores);
  const int weighted = g.hidden(s.scores);
  const int dscores = g.hidden(s.scores);
  g.multiply(t.dout, t.v, dpowers);
  g.pointwise({CUDNN_POINTWISE_SUB, dpowers, t.sums}, centred);
  g.pointwise({CUDNN_POINTWISE_MUL, centred, powers}, weighted);
  g.pointwise({CUDNN_POINTWISE_MUL, weighted, scale}, dscores);
  const int dscores_turned = g.hidden(across, across_strides, s.type);
  g.reshape(dscores, dscores_turned);
  g.multiply(dscores_turned, t.q, t.dk);
  const int k_again = g.hidden(s.k, s.k_strides, CUDNN_DATA_FLOAT);
  g.reshape(t.k, k_again);
  g.multiply(dscores, k_again, t.dq_sum);
  g.pointwise({CUDNN_POINTWISE_IDENTITY, t.dq_sum}, t.dq);
  return t;
}

std::size_t count_of(const Four& dims) {
  return static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]);
}

}  // namespace

struct FusedAttention::State {
  explicit State(const AttentionShape& shape) : shapes(shape) {}

  Shapes shapes;
  std::optional<DnnGraph> forward, backward;
  Stored forward_at, backward_at;
  Buffer sums, dq_sum;
  std::vector<DnnGraph::Call> forward_calls, backward_calls;
};

FusedAttention::FusedAttention(const AttentionShape& shape, bool forward, bool backward)
    : state_(std::make_unique<State>(shape)) {
  State& s = *state_;
  if (forward) {
    s.forward.emplace();
    s.forward_at = build_forward(*s.forward, s.shapes);
    s.forward->compile();
  }
  if (backward) {
    s.backward.emplace();
    s.backward_at = build_backward(*s.backward, s.shapes);
    s.backward->compile();
    s.sums = Buffer::on_device(count_of(s.shapes.column) * sizeof(float));
    s.dq_sum = Buffer::on_device(count_of(s.shapes.q) * sizeof(float));
  }
}

FusedAttention::~FusedAttention() = default;
FusedAttention::FusedAttention(FusedAttention&&) noexcept = default;
FusedAttention& FusedAttention::operator=(FusedAttention&&) noexcept = default;

int FusedAttention::bind_forward(const Tensors& t) {
  const Stored& at = state_->forward_at;
  state_->forward_calls.push_back(state_->forward->bind(
      {{at.q, t.q}, {at.k, t.k}, {at.v, t.v}, {at.out, t.out}, {at.stats, t.stats}}));
  return static_cast<int>(state_->forward_calls.size()) - 1;
}

int FusedAttention::bind_backward(const Tensors& t) {
  const Stored& at = state_->backward_at;
  state_->backward_calls.push_back(state_->backward->bind({{at.q, t.q},
                                                           {at.k, t.k},
                                                           {at.v, t.v},
                                                           {at.out, t.out},
                                                           {at.stats, t.stats},
                                                           {at.dout, t.dout},
                                                           {at.dq, t.dq},
                                                           {at.dk, t.dk},
                                                           {at.dv, t.dv},
                                                           {at.sums, state_->sums.data()},
                                                           {at.dq_sum, state_->dq_sum.data()}}));
  return static_cast<int>(state_->backward_calls.size()) - 1;
}

void FusedAttention::forward(int bound, cudaStream_t stream) const {
  state_->forward->run(state_->forward_calls[static_cast<std::size_t>(bound)], stream);
}

void FusedAttention::backward(int bound, cudaStream_t stream) const {
  const State& s = *state_;
  // Its kernels add to the gradient of the queries.
  check(cudaMemsetAsync(s.dq_sum.data(), 0, s.dq_sum.size(), stream));
  s.backward->run(s.backward_calls[static_cast<std::size_t>(bound)], stream);
}

namespace {

/// Random operands of one call, and the memory that holds them.
FusedAttention::Tensors operands(const Shapes& shapes, Format format, std::vector<Buffer>& buffers,
                                 cudaStream_t stream) {
  const std::size_t q_bytes = count_of(shapes.q) * size_of(format);
  const std::size_t k_bytes = count_of(shapes.k) * size_of(format);
  const auto buffer = [&](std::size_t bytes) {
    buffers.push_back(Buffer::on_device(bytes));
    fill(buffers.back(), format, stream);
    return buffers.back().data();
  };
  return {.q = buffer(q_bytes),
          .k = buffer(k_bytes),
          .v = buffer(k_bytes),
          .out = buffer(q_bytes),
          .stats = buffer(count_of(shapes.column) * sizeof(float)),
          .dout = buffer(q_bytes),
          .dq = buffer(q_bytes),
          .dk = buffer(k_bytes),
          .dv = buffer(k_bytes)};
}

}  // namespace

Summary time_attention(AttentionShape shape, bool backward, bool cold, cudaStream_t stream) {
  // Projections leave the heads of a token side by side.
  shape.token_stride = shape.out_token_stride = shape.heads * shape.width;
  const Shapes shapes(shape);
  FusedAttention attention(shape, true, backward);
  const Format format = format_of(shape.dtype);
  const int sets = operand_sets(2 * count_of(shapes.q) * size_of(format), cold);
  std::vector<Buffer> buffers;
  for (int i = 0; i < sets; ++i) {
    const FusedAttention::Tensors t = operands(shapes, format, buffers, stream);
    attention.forward(attention.bind_forward(t), stream);  // the gradient needs its output
    if (backward) { attention.bind_backward(t); }
  }
  return time_calls(
      [&](int call) {
        const int set = call % sets;
        backward ? attention.backward(set, stream) : attention.forward(set, stream);
      },
      stream);
}

std::string dnn_version() {
  const std::size_t version = cudnnGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

#else

struct FusedAttention::State {};
FusedAttention::FusedAttention(const AttentionShape&, bool, bool) {
  throw NotHere("built without cuDNN, which has the fused attention");
}
FusedAttention::~FusedAttention() = default;
FusedAttention::FusedAttention(FusedAttention&&) noexcept = default;
FusedAttention& FusedAttention::operator=(FusedAttention&&) noexcept = default;
int FusedAttention::bind_forward(const Tensors&) { return 0; }
int FusedAttention::bind_backward(const Tensors&) { return 0; }
void FusedAttention::forward(int, cudaStream_t) const {}
void FusedAttention::backward(int, cudaStream_t) const {}
Summary time_attention(AttentionShape, bool, bool, cudaStream_t) {
  throw NotHere("built without cuDNN, which has the fused attention");
}
std::string dnn_version() { return {}; }

#endif

}  // namespace tsim::calibrate
