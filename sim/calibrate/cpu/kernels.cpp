#include "sim/calibrate/cpu/kernels.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "cost/kernel_subject.hpp"
#include "sim/calibrate/cpu/host_kernels.hpp"

namespace tsim::calibrate {
namespace {

using cost::PointKind;
using cost::Subject;
using Floats = std::vector<float>;
using Call = std::function<void()>;

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

/// Inputs and outputs of a kernel.
struct Arrays {
  Floats x, y, out, more;
};

std::shared_ptr<Arrays> arrays(std::size_t x, std::size_t y, std::size_t out, std::size_t more) {
  return std::make_shared<Arrays>(Arrays{numbers(x), numbers(y), Floats(out), numbers(more)});
}

/// A product, or a batch of them with one after the other.
Call product(const Subject& subject, int threads) {
  const bool batched = subject.series.kind != PointKind::gemm;
  const std::int64_t batch = batched ? subject.shape[0] : 1;
  const std::size_t at = batched ? 1 : 0;
  const std::int64_t m = subject.shape[at];
  const std::int64_t n = subject.shape[at + 1];
  const std::int64_t k = subject.shape[at + 2];
  enum : std::uint8_t { nt, nn };
  const Layout layout = subject.series.variant == nt   ? Layout::nt
                        : subject.series.variant == nn ? Layout::nn
                                                       : Layout::tn;
  auto data =
      arrays(static_cast<std::size_t>(batch * m * k), static_cast<std::size_t>(batch * n * k),
             static_cast<std::size_t>(batch * m * n), 0);
  const auto one = [data, layout, m, n, k](std::int64_t i, int on) {
    host_product({{layout, m, n, k}, on}, data->x.data() + i * m * k, data->y.data() + i * n * k,
                 data->out.data() + i * m * n);
  };
  if (batch == 1) {
    return [one, threads] { one(0, threads); };
  }
  return [one, batch, threads] {
    in_parts(static_cast<std::size_t>(batch), threads, [&](Part part) {
      for (std::size_t i = part.from; i < part.to; ++i) { one(static_cast<std::int64_t>(i), 1); }
    });
  };
}

Call map(const Subject& subject, int threads) {
  enum : std::uint8_t { copy, add, gelu, gelu_bwd };
  const auto size = static_cast<std::size_t>(subject.shape[0]);
  const std::uint8_t variant = subject.series.variant;
  if (variant > gelu_bwd) { return {}; }
  auto data = arrays(size, size, size, 0);
  const Rows rows{size, 1, threads};
  return [data, rows, variant] {
    const float* const x = data->x.data();
    float* const out = data->out.data();
    switch (variant) {
      case copy: return host_add(rows, x, nullptr, nullptr, out);
      case add: return host_add(rows, x, nullptr, data->y.data(), out);
      case gelu: return host_gelu(rows, x, nullptr, out);
      default: return host_gelu_back(rows, x, nullptr, data->y.data(), out);
    }
  };
}

Call norm(const Rows& rows, bool backward) {
  auto data = arrays(rows.rows * rows.columns, rows.rows * rows.columns, rows.rows * rows.columns,
                     4 * rows.columns + 2 * rows.rows);
  return [data, rows, backward] {
    float* const w = data->more.data();
    float* const kept = w + 4 * rows.columns;
    if (backward) {
      host_norm_back(rows, {data->x.data(), w, kept, data->y.data()},
                     {data->out.data(), w + 2 * rows.columns, w + 3 * rows.columns});
    } else {
      host_norm(rows, data->x.data(), {w, w + rows.columns}, data->out.data(), kept);
    }
  };
}

Call softmax(const Rows& rows, bool backward) {
  const std::size_t size = rows.rows * rows.columns;
  auto data = arrays(size, size, size, 0);
  return [data, rows, backward] {
    if (backward) {
      host_softmax_back(rows, data->x.data(), data->y.data(), data->out.data());
    } else {
      host_softmax(rows, data->x.data(), data->out.data());
    }
  };
}

Call cross_entropy(const Rows& rows, bool backward) {
  const std::size_t size = rows.rows * rows.columns;
  auto data = arrays(size, 0, backward ? size : rows.rows, 2 * rows.rows);
  return [data, rows, backward] {
    if (backward) {
      host_cross_entropy_back(rows, data->x.data(), data->more.data(), data->out.data());
    } else {
      host_cross_entropy(rows, data->x.data(), data->more.data(), data->out.data());
    }
  };
}

Call by_rows(const Subject& subject, int threads) {
  const Rows rows{static_cast<std::size_t>(subject.shape[0]),
                  static_cast<std::size_t>(subject.shape[1]), threads};
  const bool backward = subject.series.variant != 0;
  switch (subject.series.kind) {
    case PointKind::layernorm: return norm(rows, backward);
    case PointKind::softmax: return softmax(rows, backward);
    default: return cross_entropy(rows, backward);
  }
}

Call adam(const Subject& subject, int threads) {
  const auto size = static_cast<std::size_t>(subject.shape[0]);
  auto data = arrays(size, size, size, size);
  std::fill(data->more.begin(), data->more.end(), 0.0F);  // squares
  return [data, size, threads] {
    host_adam(size, threads, data->x.data(), {data->out.data(), data->y.data(), data->more.data()});
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
    case PointKind::gemm:
    case PointKind::bmm:
    case PointKind::grouped: return product(subject, threads);
    case PointKind::map: return map(subject, threads);
    case PointKind::layernorm:
    case PointKind::softmax:
    case PointKind::cross_entropy: return by_rows(subject, threads);
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
