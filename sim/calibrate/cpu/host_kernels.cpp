#include "sim/calibrate/cpu/host_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include <Eigen/Dense>

namespace tsim::calibrate {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Read = Eigen::Map<const Matrix>;
using Write = Eigen::Map<Matrix>;

constexpr float kRoot = 0.7978845608F;  // sqrt(2 / pi)

float gelu(float x) { return 0.5F * x * (1.0F + std::tanh(kRoot * (x + 0.044715F * x * x * x))); }

float gelu_slope(float x) {
  const float t = std::tanh(kRoot * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * kRoot * (1.0F + 0.134145F * x * x);
}

void by_rows(const Rows& r, const std::function<void(std::size_t row, std::size_t at)>& work) {
  in_parts(r.rows, r.threads, [&](Part part) {
    for (std::size_t row = part.from; row < part.to; ++row) { work(row, row * r.columns); }
  });
}

float bias_at(const float* bias, std::size_t i) { return bias == nullptr ? 0.0F : bias[i]; }

}  // namespace

void in_parts(std::size_t size, int threads, const std::function<void(Part)>& work) {
  const auto count = static_cast<std::size_t>(threads);
  const auto part = [&](std::size_t i) { return Part{size * i / count, size * (i + 1) / count}; };
  std::vector<std::thread> others;
  others.reserve(count - 1);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    others.emplace_back([&work, one = part(i)] { work(one); });
  }
  work(part(count - 1));
  for (std::thread& other : others) { other.join(); }
}

void host_product(const HostProduct& p, const float* a, const float* b, float* c,
                  const float* bias) {
  const auto [layout, m, n, k] = p.shape;
  const bool a_turned = layout == Layout::tn;
  const bool b_turned = layout == Layout::nt;
  const Read left(a, a_turned ? k : m, a_turned ? m : k);
  const Read right(b, b_turned ? n : k, b_turned ? k : n);
  Write out(c, m, n);
  in_parts(static_cast<std::size_t>(p.shape.m), p.threads, [&](Part part) {
    const auto from = static_cast<Eigen::Index>(part.from);
    const auto rows = static_cast<Eigen::Index>(part.to - part.from);
    auto mine = out.middleRows(from, rows);
    if (a_turned) {
      mine.noalias() = left.middleCols(from, rows).transpose() * right;
    } else if (b_turned) {
      mine.noalias() = left.middleRows(from, rows) * right.transpose();
    } else {
      mine.noalias() = left.middleRows(from, rows) * right;
    }
    if (bias != nullptr) {
      mine.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(bias, out.cols());
    }
  });
}

void host_norm(const Rows& r, const float* x, const Affine<float>& affine, float* y, float* kept) {
  const auto columns = static_cast<float>(r.columns);
  by_rows(r, [&](std::size_t row, std::size_t at) {
    float sum = 0;
    for (std::size_t i = 0; i < r.columns; ++i) { sum += x[at + i]; }
    const float mean = sum / columns;
    float squares = 0;
    for (std::size_t i = 0; i < r.columns; ++i) {
      squares += (x[at + i] - mean) * (x[at + i] - mean);
    }
    const float scale = 1.0F / std::sqrt(squares / columns + 1e-5F);
    for (std::size_t i = 0; i < r.columns; ++i) {
      y[at + i] = (x[at + i] - mean) * scale * affine.weight[i] + affine.bias[i];
    }
    kept[2 * row] = mean;
    kept[2 * row + 1] = scale;
  });
}

void host_norm_back(const Rows& r, const NormUpstream<float>& up, const NormGradient<float>& to) {
  const float* const x = up.x;
  const float* const w = up.weight;
  const float* const kept = up.kept;
  const float* const dy = up.dy;
  const auto columns = static_cast<float>(r.columns);
  by_rows(r, [&](std::size_t row, std::size_t at) {
    const float mean = kept[2 * row];
    const float scale = kept[2 * row + 1];
    float sum = 0;
    float slope = 0;
    for (std::size_t i = 0; i < r.columns; ++i) {
      const float g = dy[at + i] * w[i];
      sum += g;
      slope += g * (x[at + i] - mean) * scale;
    }
    for (std::size_t i = 0; i < r.columns; ++i) {
      const float normal = (x[at + i] - mean) * scale;
      to.x[at + i] = (dy[at + i] * w[i] - sum / columns - normal * slope / columns) * scale;
    }
  });
  in_parts(r.columns, r.threads, [&](Part part) {
    std::fill(to.weight + part.from, to.weight + part.to, 0.0F);
    std::fill(to.bias + part.from, to.bias + part.to, 0.0F);
    for (std::size_t row = 0; row < r.rows; ++row) {
      const std::size_t at = row * r.columns;
      for (std::size_t i = part.from; i < part.to; ++i) {
        to.weight[i] += dy[at + i] * (x[at + i] - kept[2 * row]) * kept[2 * row + 1];
        to.bias[i] += dy[at + i];
      }
    }
  });
}

void host_gelu(const Rows& r, const float* x, const float* bias, float* y) {
  by_rows(r, [&](std::size_t, std::size_t at) {
    for (std::size_t i = 0; i < r.columns; ++i) { y[at + i] = gelu(x[at + i] + bias_at(bias, i)); }
  });
}

void host_gelu_back(const Rows& r, const float* x, const float* bias, const float* dy, float* dx) {
  by_rows(r, [&](std::size_t, std::size_t at) {
    for (std::size_t i = 0; i < r.columns; ++i) {
      dx[at + i] = dy[at + i] * gelu_slope(x[at + i] + bias_at(bias, i));
    }
  });
}

void host_add(const Rows& r, const float* x, const float* bias, const float* residual, float* y) {
  by_rows(r, [&](std::size_t, std::size_t at) {
    for (std::size_t i = 0; i < r.columns; ++i) {
      y[at + i] = x[at + i] + bias_at(bias, i) + (residual == nullptr ? 0.0F : residual[at + i]);
    }
  });
}

void host_column_sum(const Rows& r, const float* x, float* sum) {
  in_parts(r.columns, r.threads, [&](Part part) {
    std::fill(sum + part.from, sum + part.to, 0.0F);
    for (std::size_t row = 0; row < r.rows; ++row) {
      for (std::size_t i = part.from; i < part.to; ++i) { sum[i] += x[row * r.columns + i]; }
    }
  });
}

void host_softmax(const Rows& r, const float* x, float* y) {
  by_rows(r, [&](std::size_t, std::size_t at) {
    const float most = *std::max_element(x + at, x + at + r.columns);
    float sum = 0;
    for (std::size_t i = 0; i < r.columns; ++i) {
      y[at + i] = std::exp(x[at + i] - most);
      sum += y[at + i];
    }
    for (std::size_t i = 0; i < r.columns; ++i) { y[at + i] /= sum; }
  });
}

void host_softmax_back(const Rows& r, const float* y, const float* dy, float* dx) {
  by_rows(r, [&](std::size_t, std::size_t at) {
    float sum = 0;
    for (std::size_t i = 0; i < r.columns; ++i) { sum += y[at + i] * dy[at + i]; }
    for (std::size_t i = 0; i < r.columns; ++i) { dx[at + i] = y[at + i] * (dy[at + i] - sum); }
  });
}

void host_cross_entropy(const Rows& r, const float* x, float* kept, float* loss) {
  by_rows(r, [&](std::size_t row, std::size_t at) {
    const float most = *std::max_element(x + at, x + at + r.columns);
    float sum = 0;
    for (std::size_t i = 0; i < r.columns; ++i) { sum += std::exp(x[at + i] - most); }
    kept[2 * row] = most;
    kept[2 * row + 1] = sum;
    loss[row] = std::log(sum) + most - x[at + target_of(row, r.columns)];
  });
}

void host_cross_entropy_back(const Rows& r, const float* x, const float* kept, float* dx) {
  by_rows(r, [&](std::size_t row, std::size_t at) {
    for (std::size_t i = 0; i < r.columns; ++i) {
      dx[at + i] = std::exp(x[at + i] - kept[2 * row]) / kept[2 * row + 1];
    }
    dx[at + target_of(row, r.columns)] -= 1.0F;
  });
}

void host_adam(std::size_t size, int threads, const float* gradient, const AdamState& state) {
  in_parts(size, threads, [&](Part part) {
    for (std::size_t i = part.from; i < part.to; ++i) {
      float& first = state.first[i];
      float& second = state.second[i];
      first = 0.9F * first + 0.1F * gradient[i];
      second = 0.999F * second + 0.001F * gradient[i] * gradient[i];
      state.weight[i] -= 1e-4F * first / (std::sqrt(second) + 1e-8F);
    }
  });
}

}  // namespace tsim::calibrate
