#include "sim/calibrate/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <Eigen/Dense>

#include "cost/kernel_subject.hpp"

namespace tsim::calibrate {
namespace {

using cost::PointKind;
using cost::Subject;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Floats = std::vector<float>;
using Call = std::function<void()>;

/// From the first to before the last.
struct Part {
  std::size_t from = 0, to = 0;
};

/// Runs `work` on equal parts of 0 to `size`, the last one on this thread.
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

/// Numbers between -1 and 1 that no two neighbours share.
Floats numbers(std::size_t size) {
  Floats values(size);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' linear congruential generator
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return values;
}

/// Operands of a product, as they lie in memory.
struct Operands {
  Matrix a, b, c;
};

Call product(const Subject& subject, int threads) {
  const std::int64_t m = subject.shape[0];
  const std::int64_t n = subject.shape[1];
  const std::int64_t k = subject.shape[2];
  const std::uint8_t transposes = subject.series.variant;  // nt, nn, tn, tn+
  const bool a_turned = transposes >= 2;
  const bool b_turned = transposes == 0;
  auto data = std::make_shared<Operands>();
  data->a = a_turned ? Matrix::Random(k, m) : Matrix::Random(m, k);
  data->b = b_turned ? Matrix::Random(n, k) : Matrix::Random(k, n);
  data->c = Matrix::Zero(m, n);
  return [data, a_turned, b_turned, m, threads] {
    in_parts(static_cast<std::size_t>(m), threads, [&](Part part) {
      const auto from = static_cast<Eigen::Index>(part.from);
      const auto rows = static_cast<Eigen::Index>(part.to - part.from);
      auto c = data->c.middleRows(from, rows);
      if (a_turned) {
        c.noalias() = data->a.middleCols(from, rows).transpose() * data->b;
      } else if (b_turned) {
        c.noalias() = data->a.middleRows(from, rows) * data->b.transpose();
      } else {
        c.noalias() = data->a.middleRows(from, rows) * data->b;
      }
    });
  };
}

/// Inputs and the output of a kernel that moves memory.
struct Arrays {
  Floats x, y, out;
};

std::shared_ptr<Arrays> arrays(std::size_t size) {
  return std::make_shared<Arrays>(Arrays{numbers(size), numbers(size), Floats(size, 0.0F)});
}

/// GELU by its tanh form [arXiv:1606.08415].
float gelu(float x) {
  constexpr float kRoot = 0.7978845608F;  // sqrt(2 / pi)
  return 0.5F * x * (1.0F + std::tanh(kRoot * (x + 0.044715F * x * x * x)));
}

Call map(const Subject& subject, int threads) {
  enum : std::uint8_t { copy, add, gelu_forward };
  const auto size = static_cast<std::size_t>(subject.shape[0]);
  const std::uint8_t variant = subject.series.variant;
  if (variant > gelu_forward) { return {}; }
  auto data = arrays(size);
  return [data, size, variant, threads] {
    in_parts(size, threads, [&](Part part) {
      for (std::size_t i = part.from; i < part.to; ++i) {
        data->out[i] = variant == copy  ? data->x[i]
                       : variant == add ? data->x[i] + data->y[i]
                                        : gelu(data->x[i]);
      }
    });
  };
}

void normalise_row(const float* x, float* out, std::size_t columns) {
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) { sum += x[i]; }
  const float mean = sum / static_cast<float>(columns);
  float squares = 0;
  for (std::size_t i = 0; i < columns; ++i) { squares += (x[i] - mean) * (x[i] - mean); }
  const float scale = 1.0F / std::sqrt(squares / static_cast<float>(columns) + 1e-5F);
  for (std::size_t i = 0; i < columns; ++i) { out[i] = (x[i] - mean) * scale; }
}

void softmax_row(const float* x, float* out, std::size_t columns) {
  const float most = *std::max_element(x, x + columns);
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    out[i] = std::exp(x[i] - most);
    sum += out[i];
  }
  for (std::size_t i = 0; i < columns; ++i) { out[i] /= sum; }
}

/// Forwards of layer norm and softmax.
Call by_rows(const Subject& subject, int threads) {
  if (subject.series.variant != 0) { return {}; }
  const auto rows = static_cast<std::size_t>(subject.shape[0]);
  const auto columns = static_cast<std::size_t>(subject.shape[1]);
  const bool norm = subject.series.kind == PointKind::layernorm;
  auto data = arrays(rows * columns);
  return [data, rows, columns, norm, threads] {
    in_parts(rows, threads, [&](Part part) {
      for (std::size_t row = part.from; row < part.to; ++row) {
        const float* const x = data->x.data() + row * columns;
        (norm ? normalise_row : softmax_row)(x, data->out.data() + row * columns, columns);
      }
    });
  };
}

/// One step of Adam [arXiv:1412.6980] without the bias corrections.
Call adam(const Subject& subject, int threads) {
  const auto size = static_cast<std::size_t>(subject.shape[0]);
  auto data = arrays(size);
  auto moments = std::make_shared<Floats>(size, 0.0F);
  return [data, moments, size, threads] {
    in_parts(size, threads, [&](Part part) {
      for (std::size_t i = part.from; i < part.to; ++i) {
        const float gradient = data->x[i];
        float& first = data->y[i];
        float& second = (*moments)[i];
        first = 0.9F * first + 0.1F * gradient;
        second = 0.999F * second + 0.001F * gradient * gradient;
        data->out[i] -= 1e-4F * first / (std::sqrt(second) + 1e-8F);
      }
    });
  };
}

Call copy_bytes(const Subject& subject, int threads) {
  enum : std::uint8_t { h2d, d2h, d2d };
  if (subject.series.variant != d2d) { return {}; }
  const auto size = static_cast<std::size_t>(subject.shape[0]);
  auto from = std::make_shared<std::vector<char>>(size, 'a');
  auto to = std::make_shared<std::vector<char>>(size, 'b');
  return [from, to, size, threads] {
    in_parts(size, threads, [&](Part part) {
      std::memcpy(to->data() + part.from, from->data() + part.from, part.to - part.from);
    });
  };
}

Call call_of(const Subject& subject, int threads) {
  if (subject.series.dtype != models::DType::fp32) { return {}; }
  switch (subject.series.kind) {
    case PointKind::gemm: return product(subject, threads);
    case PointKind::map: return map(subject, threads);
    case PointKind::layernorm:
    case PointKind::softmax: return by_rows(subject, threads);
    case PointKind::adam: return adam(subject, threads);
    case PointKind::memcpy: return copy_bytes(subject, threads);
    default: return {};
  }
}

}  // namespace

double operand_bytes(const Subject& subject) {
  // A copy is of its bytes once more, and the arrays of maps are three.
  return 2 * cost::smooth_bytes(subject);
}

std::string product_library() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
}

std::optional<Call> cpu_kernel(const Subject& subject, int threads) {
  Call call = call_of(subject, threads);
  return call ? std::optional(std::move(call)) : std::nullopt;
}

}  // namespace tsim::calibrate
