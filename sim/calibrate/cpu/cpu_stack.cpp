#include "sim/calibrate/cpu/cpu_stack.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include <Eigen/Dense>

namespace tsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using Read = Eigen::Map<const Matrix, 0, Stride>;
using Write = Eigen::Map<Matrix, 0, Stride>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Small weights, norms' weights of one; the same on every device.
void start_weights(const StackShape& s, const StackPlaces& places, float* w) {
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < places.size; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' linear congruential generator
    w[i] = 0.02F * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
  }
  const auto ones = [&](std::size_t at) {
    std::fill(w + at, w + at + static_cast<std::size_t>(s.hidden), 1.0F);
  };
  for (const LayerPlaces& l : places.layers) {
    ones(l.norm1);
    ones(l.norm2);
  }
  if (places.norm_bias > places.norm) { ones(places.norm); }
}

}  // namespace

/// Adds the time of its life to a class.
class CpuOps::Timer {
 public:
  Timer(CpuOps& ops, StackClass which) : total_(ops.times_.at(static_cast<std::size_t>(which))) {}
  ~Timer() { total_ += seconds_since(start_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& total_;
  Clock::time_point start_ = Clock::now();
};

CpuOps::CpuOps(StackShape shape, int threads, long stage)
    : s_(std::move(shape)), threads_(threads) {
  const StackPlaces places = places_of(s_, stage);
  parameters_ = places.size;
  weights_ = values(parameters_);
  gradients_ = values(parameters_);
  if (s_.micro_batches > 1) { more_gradients_ = values(parameters_); }
  first_ = values(parameters_);
  second_ = values(parameters_);
  start_weights(s_, places, weights_);
  const auto tokens = static_cast<std::size_t>(s_.tokens());
  const std::size_t scores = tokens * static_cast<std::size_t>(heads() * s_.sequence);
  const long kept = s_.stage_layers() * std::min(s_.micro_batches, s_.pipeline - stage);
  shares_.reserve(static_cast<std::size_t>(kept));
  for (long i = 0; i < kept; ++i) { shares_.push_back(values(scores)); }
  scores_ = values(scores);
  losses_ = values(tokens);
  loss_kept_ = values(2 * tokens);
}

float* CpuOps::values(std::size_t count) {
  memory_ += static_cast<double>(count) * sizeof(float);
  return arrays_.emplace_back(count, 0.0F).data();
}

Rows CpuOps::rows(const StackRows& r) const {
  return {static_cast<std::size_t>(r.rows), static_cast<std::size_t>(r.columns), threads_};
}

/// What stands at place `row`; every word comes up.
std::size_t CpuOps::token(std::size_t row) const {
  return row * 31 % static_cast<std::size_t>(s_.vocab);
}

void CpuOps::product(const StackProduct& p, const float* a, const float* b, float* c,
                     const float* bias) {
  const Timer timer(*this, StackClass::products);
  host_product({p, threads_}, a, b, c, bias);
}

void CpuOps::norm(const StackRows& r, const float* x, const Affine<float>& affine, float* y,
                  float* kept) {
  const Timer timer(*this, StackClass::norms);
  host_norm(rows(r), x, affine, y, kept);
}

void CpuOps::norm_back(const StackRows& r, const NormUpstream<float>& up,
                       const NormGradient<float>& to) {
  const Timer timer(*this, StackClass::norms);
  host_norm_back(rows(r), up, to);
}

void CpuOps::bias_gelu(const StackRows& r, const float* x, const float* bias, float* y) {
  const Timer timer(*this, StackClass::elementwise);
  host_gelu(rows(r), x, bias, y);
}

void CpuOps::gelu_back(const StackRows& r, const float* x, const float* bias, const float* dy,
                       float* dx) {
  const Timer timer(*this, StackClass::elementwise);
  host_gelu_back(rows(r), x, bias, dy, dx);
}

void CpuOps::bias_add(const StackRows& r, const float* x, const float* bias, const float* residual,
                      float* y) {
  const Timer timer(*this, StackClass::elementwise);
  host_add(rows(r), x, bias, residual, y);
}

void CpuOps::bias_back(const StackRows& r, const float* dy, float* db) {
  const Timer timer(*this, StackClass::elementwise);
  host_column_sum(rows(r), dy, db);
}

void CpuOps::accumulate() {
  const Timer timer(*this, StackClass::elementwise);
  for (std::size_t i = 0; i < parameters_; ++i) { gradients_[i] += more_gradients_[i]; }
}

void CpuOps::clear(float* x, long count) { std::fill(x, x + count, 0.0F); }

void CpuOps::attention(std::size_t layer, const float* qkv, float* out) {
  const Timer timer(*this, StackClass::attention);
  const long n = s_.sequence;
  const long wide = heads() * s_.width();  // of this tensor rank
  const long d = s_.width();
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  in_parts(static_cast<std::size_t>(s_.batch * heads()), threads_, [&](Part part) {
    for (std::size_t i = part.from; i < part.to; ++i) {
      const long head = static_cast<long>(i) % heads();
      const long row = static_cast<long>(i) / heads() * n;
      const float* const at = qkv + row * 3 * wide + head * d;
      const Read q(at, n, d, Stride(3 * wide));
      const Read k(at + wide, n, d, Stride(3 * wide));
      const Read v(at + 2 * wide, n, d, Stride(3 * wide));
      Write scores(scores_ + static_cast<long>(i) * n * n, n, n, Stride(n));
      scores.noalias() = scale * q * k.transpose();
      for (long j = 0; s_.causal && j < n; ++j) {
        scores.row(j).tail(n - j - 1).setConstant(-1e30F);  // its power is 0 in fp32
      }
      float* const shares = shares_[layer] + static_cast<long>(i) * n * n;
      host_softmax({static_cast<std::size_t>(n), static_cast<std::size_t>(n), 1}, scores.data(),
                   shares);
      Write result(out + row * wide + head * d, n, d, Stride(wide));
      result.noalias() = Read(shares, n, n, Stride(n)) * v;
    }
  });
}

void CpuOps::attention_back(std::size_t layer, const float* qkv, const float* /*out*/,
                            const float* dout, float* dqkv) {
  const Timer timer(*this, StackClass::attention);
  const long n = s_.sequence;
  const long wide = heads() * s_.width();  // of this tensor rank
  const long d = s_.width();
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  in_parts(static_cast<std::size_t>(s_.batch * heads()), threads_, [&](Part part) {
    for (std::size_t i = part.from; i < part.to; ++i) {
      const long head = static_cast<long>(i) % heads();
      const long row = static_cast<long>(i) / heads() * n;
      const long at = row * 3 * wide + head * d;
      const Stride apart(3 * wide);
      const Read q(qkv + at, n, d, apart);
      const Read k(qkv + at + wide, n, d, apart);
      const Read v(qkv + at + 2 * wide, n, d, apart);
      const Read gradient(dout + row * wide + head * d, n, d, Stride(wide));
      const float* const shares = shares_[layer] + static_cast<long>(i) * n * n;
      const Read p(shares, n, n, Stride(n));
      Write scores(scores_ + static_cast<long>(i) * n * n, n, n, Stride(n));
      Write(dqkv + at + 2 * wide, n, d, apart).noalias() = p.transpose() * gradient;
      scores.noalias() = gradient * v.transpose();
      host_softmax_back({static_cast<std::size_t>(n), static_cast<std::size_t>(n), 1}, shares,
                        scores.data(), scores.data());
      Write(dqkv + at, n, d, apart).noalias() = scale * scores * k;
      Write(dqkv + at + wide, n, d, apart).noalias() = scale * scores.transpose() * q;
    }
  });
}

void CpuOps::embed(const float* table, const float* positions, float* x) {
  const Timer timer(*this, StackClass::elementwise);
  const auto h = static_cast<std::size_t>(s_.hidden);
  in_parts(static_cast<std::size_t>(s_.tokens()), threads_, [&](Part part) {
    for (std::size_t row = part.from; row < part.to; ++row) {
      const float* const word = table + token(row) * h;
      const float* const place = positions + row % static_cast<std::size_t>(s_.sequence) * h;
      for (std::size_t i = 0; i < h; ++i) { x[row * h + i] = word[i] + place[i]; }
    }
  });
}

void CpuOps::embed_back(const float* dx, float* dtable, float* dpositions) {
  const Timer timer(*this, StackClass::elementwise);
  const auto h = static_cast<std::size_t>(s_.hidden);
  const auto sequence = static_cast<std::size_t>(s_.sequence);
  std::fill(dpositions, dpositions + sequence * h, 0.0F);
  in_parts(h, threads_, [&](Part part) {  // by columns: words come up more than once
    for (std::size_t row = 0; row < static_cast<std::size_t>(s_.tokens()); ++row) {
      for (std::size_t i = part.from; i < part.to; ++i) {
        dtable[token(row) * h + i] += dx[row * h + i];
        dpositions[row % sequence * h + i] += dx[row * h + i];
      }
    }
  });
}

void CpuOps::loss(const float* logits) {
  const Timer timer(*this, StackClass::loss);
  host_cross_entropy(rows({s_.tokens(), s_.vocab}), logits, loss_kept_, losses_);
}

void CpuOps::loss_back(float* logits) {
  const Timer timer(*this, StackClass::loss);
  host_cross_entropy_back(rows({s_.tokens(), s_.vocab}), logits, loss_kept_, logits);
}

void CpuOps::adam() {
  const Timer timer(*this, StackClass::optimizer);
  host_adam(parameters_, threads_, gradients_, {weights_, first_, second_});
}

double CpuOps::mean_loss() const {
  return std::accumulate(losses_, losses_ + s_.tokens(), 0.0) / static_cast<double>(s_.tokens());
}

std::array<double, kStackClasses> CpuOps::take_times() {
  return std::exchange(times_, std::array<double, kStackClasses>{});
}

void CpuOps::route(const float* scores, float* shares) {
  const Timer timer(*this, StackClass::elementwise);
  std::vector<float> all(static_cast<std::size_t>(s_.experts));
  for (long t = 0; t < s_.tokens(); ++t) {
    host_softmax({1, all.size(), 1}, scores + t * s_.experts, all.data());
    for (long j = 0; j < s_.top_k; ++j) {
      shares[t * s_.top_k + j] = all[static_cast<std::size_t>(expert_of(t, j, s_.experts))];
    }
  }
}

void CpuOps::route_back(const float* scores, const float* dshares, float* dscores) {
  const Timer timer(*this, StackClass::elementwise);
  std::vector<float> all(static_cast<std::size_t>(s_.experts));
  std::vector<float> dall(all.size());
  for (long t = 0; t < s_.tokens(); ++t) {
    host_softmax({1, all.size(), 1}, scores + t * s_.experts, all.data());
    std::fill(dall.begin(), dall.end(), 0.0F);
    for (long j = 0; j < s_.top_k; ++j) {
      dall[static_cast<std::size_t>(expert_of(t, j, s_.experts))] = dshares[t * s_.top_k + j];
    }
    host_softmax_back({1, all.size(), 1}, all.data(), dall.data(), dscores + t * s_.experts);
  }
}

void CpuOps::permute(const float* x, float* rows) const {
  const long h = s_.hidden;
  for (long i = 0; i < places(); ++i) {
    const long token = i / s_.top_k;
    const long to = place_of(token, i % s_.top_k, s_);
    std::copy(x + token * h, x + (token + 1) * h, rows + to * h);
  }
}

void CpuOps::permute_back(const float* drows, float* dx) const {
  const long h = s_.hidden;
  std::fill(dx, dx + s_.tokens() * h, 0.0F);
  for (long i = 0; i < places(); ++i) {
    const long token = i / s_.top_k;
    const float* const from = drows + place_of(token, i % s_.top_k, s_) * h;
    for (long c = 0; c < h; ++c) { dx[token * h + c] += from[c]; }
  }
}

void CpuOps::combine(const float* rows, const float* shares, float* x) const {
  const long h = s_.hidden;
  std::fill(x, x + s_.tokens() * h, 0.0F);
  for (long i = 0; i < places(); ++i) {
    const long token = i / s_.top_k;
    const float* const from = rows + place_of(token, i % s_.top_k, s_) * h;
    for (long c = 0; c < h; ++c) { x[token * h + c] += shares[i] * from[c]; }
  }
}

void CpuOps::combine_back(const float* dx, const ExpertResults<float>& results, float* drows,
                          float* dshares) const {
  const long h = s_.hidden;
  for (long i = 0; i < places(); ++i) {
    const long token = i / s_.top_k;
    const long at = place_of(token, i % s_.top_k, s_) * h;
    dshares[i] = 0;
    for (long c = 0; c < h; ++c) {
      drows[at + c] = results.shares[i] * dx[token * h + c];
      dshares[i] += results.rows[at + c] * dx[token * h + c];
    }
  }
}

StackTimes run_cpu_stack(const StackShape& shape, double seconds) {
  constexpr std::size_t kLeast = 3;
  constexpr std::size_t kMost = 15;
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CpuOps ops(shape, threads);
  Stack<CpuOps> stack(shape, ops);
  StackTimes times;
  stack.step();  // touches all pages
  times.first_loss = ops.mean_loss();
  ops.take_times();
  std::vector<std::pair<double, std::array<double, kStackClasses>>> steps;
  const Clock::time_point start = Clock::now();
  while (steps.size() < kLeast || (steps.size() < kMost && seconds_since(start) < seconds)) {
    const Clock::time_point begin = Clock::now();
    stack.step();
    steps.emplace_back(seconds_since(begin), ops.take_times());
  }
  std::sort(steps.begin(), steps.end());
  const auto& middle = steps[steps.size() / 2];
  times.step = middle.first;
  times.classes = middle.second;
  times.memory = ops.memory();
  times.last_loss = ops.mean_loss();
  times.steps = static_cast<int>(steps.size());
  return times;
}

}  // namespace tsim::calibrate
