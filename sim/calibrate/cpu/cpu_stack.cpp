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
void start_weights(const StackShape& s, float* w, std::size_t count) {
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' linear congruential generator
    w[i] = 0.02F * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
  }
  const StackPlaces places = places_of(s);
  const auto ones = [&](std::size_t at) {
    std::fill(w + at, w + at + static_cast<std::size_t>(s.hidden), 1.0F);
  };
  for (const LayerPlaces& l : places.layers) {
    ones(l.norm1);
    ones(l.norm2);
  }
  ones(places.norm);
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

CpuOps::CpuOps(const StackShape& shape, int threads)
    : s_(shape), threads_(threads), parameters_(places_of(shape).size) {
  weights_ = values(parameters_);
  gradients_ = values(parameters_);
  first_ = values(parameters_);
  second_ = values(parameters_);
  start_weights(s_, weights_, parameters_);
  const auto tokens = static_cast<std::size_t>(s_.tokens());
  const std::size_t scores = tokens * static_cast<std::size_t>(s_.heads * s_.sequence);
  shares_.reserve(static_cast<std::size_t>(s_.layers));
  for (long i = 0; i < s_.layers; ++i) { shares_.push_back(values(scores)); }
  scores_ = values(scores);
  losses_ = values(tokens);
  loss_kept_ = values(2 * tokens);
}

float* CpuOps::values(std::size_t count) {
  memory_ += static_cast<double>(count) * sizeof(float);
  return arrays_.emplace_back(count, 0.0F).data();
}

Rows CpuOps::rows(long count, long columns) const {
  return {static_cast<std::size_t>(count), static_cast<std::size_t>(columns), threads_};
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

void CpuOps::norm(const float* x, const float* w, const float* b, float* y, float* kept, long count,
                  long columns) {
  const Timer timer(*this, StackClass::norms);
  host_norm(rows(count, columns), x, w, b, y, kept);
}

void CpuOps::norm_back(const float* x, const float* w, const float* kept, const float* dy,
                       float* dx, float* dw, float* db, long count, long columns) {
  const Timer timer(*this, StackClass::norms);
  host_norm_back(rows(count, columns), x, w, kept, dy, {dx, dw, db});
}

void CpuOps::bias_gelu(const float* x, const float* bias, float* y, long count, long columns) {
  const Timer timer(*this, StackClass::elementwise);
  host_gelu(rows(count, columns), x, bias, y);
}

void CpuOps::gelu_back(const float* x, const float* bias, const float* dy, float* dx, long count,
                       long columns) {
  const Timer timer(*this, StackClass::elementwise);
  host_gelu_back(rows(count, columns), x, bias, dy, dx);
}

void CpuOps::bias_add(const float* x, const float* bias, const float* residual, float* y,
                      long count, long columns) {
  const Timer timer(*this, StackClass::elementwise);
  host_add(rows(count, columns), x, bias, residual, y);
}

void CpuOps::add(const float* x, const float* y, float* out, long count) {
  const Timer timer(*this, StackClass::elementwise);
  host_add(rows(count / s_.hidden, s_.hidden), x, nullptr, y, out);
}

void CpuOps::bias_back(const float* dy, float* db, long count, long columns) {
  const Timer timer(*this, StackClass::elementwise);
  host_column_sum(rows(count, columns), dy, db);
}

void CpuOps::attention(std::size_t layer, const float* qkv, float* out) {
  const Timer timer(*this, StackClass::attention);
  const long n = s_.sequence;
  const long d = s_.width();
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  in_parts(static_cast<std::size_t>(s_.batch * s_.heads), threads_, [&](Part part) {
    for (std::size_t i = part.from; i < part.to; ++i) {
      const long head = static_cast<long>(i) % s_.heads;
      const long row = static_cast<long>(i) / s_.heads * n;
      const float* const at = qkv + row * 3 * s_.hidden + head * d;
      const Read q(at, n, d, Stride(3 * s_.hidden));
      const Read k(at + s_.hidden, n, d, Stride(3 * s_.hidden));
      const Read v(at + 2 * s_.hidden, n, d, Stride(3 * s_.hidden));
      Write scores(scores_ + static_cast<long>(i) * n * n, n, n, Stride(n));
      scores.noalias() = scale * q * k.transpose();
      for (long j = 0; s_.causal && j < n; ++j) {
        scores.row(j).tail(n - j - 1).setConstant(-1e30F);  // its power is 0 in fp32
      }
      float* const shares = shares_[layer] + static_cast<long>(i) * n * n;
      host_softmax({static_cast<std::size_t>(n), static_cast<std::size_t>(n), 1}, scores.data(),
                   shares);
      Write result(out + row * s_.hidden + head * d, n, d, Stride(s_.hidden));
      result.noalias() = Read(shares, n, n, Stride(n)) * v;
    }
  });
}

void CpuOps::attention_back(std::size_t layer, const float* qkv, const float* /*out*/,
                            const float* dout, float* dqkv) {
  const Timer timer(*this, StackClass::attention);
  const long n = s_.sequence;
  const long d = s_.width();
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  in_parts(static_cast<std::size_t>(s_.batch * s_.heads), threads_, [&](Part part) {
    for (std::size_t i = part.from; i < part.to; ++i) {
      const long head = static_cast<long>(i) % s_.heads;
      const long row = static_cast<long>(i) / s_.heads * n;
      const long at = row * 3 * s_.hidden + head * d;
      const Stride wide(3 * s_.hidden);
      const Read q(qkv + at, n, d, wide);
      const Read k(qkv + at + s_.hidden, n, d, wide);
      const Read v(qkv + at + 2 * s_.hidden, n, d, wide);
      const Read gradient(dout + row * s_.hidden + head * d, n, d, Stride(s_.hidden));
      const float* const shares = shares_[layer] + static_cast<long>(i) * n * n;
      const Read p(shares, n, n, Stride(n));
      Write scores(scores_ + static_cast<long>(i) * n * n, n, n, Stride(n));
      Write(dqkv + at + 2 * s_.hidden, n, d, wide).noalias() = p.transpose() * gradient;
      scores.noalias() = gradient * v.transpose();
      host_softmax_back({static_cast<std::size_t>(n), static_cast<std::size_t>(n), 1}, shares,
                        scores.data(), scores.data());
      Write(dqkv + at, n, d, wide).noalias() = scale * scores * k;
      Write(dqkv + at + s_.hidden, n, d, wide).noalias() = scale * scores.transpose() * q;
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
  host_cross_entropy(rows(s_.tokens(), s_.vocab), logits, loss_kept_, losses_);
}

void CpuOps::loss_back(float* logits) {
  const Timer timer(*this, StackClass::loss);
  host_cross_entropy_back(rows(s_.tokens(), s_.vocab), logits, loss_kept_, logits);
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
