// Physical quantities as types, so that GB, GiB, Gb and seconds cannot be mixed.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <vector>

namespace tsim {

/// A whole number of bytes. Whole, so that conservation can be checked exactly.
struct Bytes {
  std::int64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
  Bytes& operator+=(Bytes o) {
    value += o.value;
    return *this;
  }
  Bytes& operator-=(Bytes o) {
    value -= o.value;
    return *this;
  }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
constexpr Bytes operator*(std::int64_t n, Bytes b) { return {n * b.value}; }
constexpr Bytes operator*(Bytes b, std::int64_t n) { return {n * b.value}; }

namespace detail {
/// A real-valued quantity of dimension `Tag`.
template <class Tag>
struct Quantity {
  double value = 0.0;
  auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(double k, Quantity a) { return {k * a.value}; }
  friend constexpr Quantity operator*(Quantity a, double k) { return {k * a.value}; }
  friend constexpr Quantity operator/(Quantity a, double k) { return {a.value / k}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};
}  // namespace detail

using Seconds = detail::Quantity<struct SecondsTag>;
using BytesPerSecond = detail::Quantity<struct BytesPerSecondTag>;
using Flops = detail::Quantity<struct FlopsTag>;
using FlopsPerSecond = detail::Quantity<struct FlopsPerSecondTag>;

constexpr double to_double(Bytes b) { return static_cast<double>(b.value); }
constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return {to_double(b) / r.value}; }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return {f.value / r.value}; }
constexpr Flops operator*(FlopsPerSecond r, Seconds t) { return {r.value * t.value}; }
constexpr FlopsPerSecond operator/(Flops f, Seconds t) { return {f.value / t.value}; }
constexpr BytesPerSecond operator/(Bytes b, Seconds t) { return {to_double(b) / t.value}; }

/// `whole` in `parts` pieces that differ by at most one byte and sum exactly to it.  parts >= 1.
inline std::vector<Bytes> split(Bytes whole, int parts) {
  assert(parts >= 1);
  std::vector<Bytes> pieces(static_cast<std::size_t>(parts), Bytes{whole.value / parts});
  for (std::int64_t i = 0; i < whole.value % parts; ++i) {
    pieces[static_cast<std::size_t>(i)] += Bytes{1};
  }
  return pieces;
}

/// Literals: binary (KiB, MiB, GiB), decimal (KB, MB, GB), rates in bytes (GBps) or bits (Gbps).
namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 10)};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 20)};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n << 30)};
}
constexpr Bytes operator""_KB(unsigned long long n) {
  return {static_cast<std::int64_t>(n * 1000)};
}
constexpr Bytes operator""_MB(unsigned long long n) {
  return {static_cast<std::int64_t>(n * 1000000)};
}
constexpr Bytes operator""_GB(unsigned long long n) {
  return {static_cast<std::int64_t>(n * 1000000000)};
}
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
  return {static_cast<double>(n) * 1e9};
}
constexpr BytesPerSecond operator""_Gbps(unsigned long long n) {
  return {static_cast<double>(n) * 1e9 / 8};
}
constexpr Seconds operator""_us(unsigned long long n) { return {static_cast<double>(n) * 1e-6}; }
constexpr Seconds operator""_ms(unsigned long long n) { return {static_cast<double>(n) * 1e-3}; }
constexpr FlopsPerSecond operator""_TFLOPs(unsigned long long n) {
  return {static_cast<double>(n) * 1e12};
}
}  // namespace literals

}  // namespace tsim
