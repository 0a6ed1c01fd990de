#include "models/routing/random.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace tsim::models {

Random::Random(std::initializer_list<std::uint64_t> key) {
  for (const std::uint64_t part : key) {
    state_ ^= part;
    state_ = next();
  }
}

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t n) {
  assert(n >= 1);
  return next() % n;  // the bias is n / 2^64
}

double Random::normal() {
  // Box and Muller, one of the pair.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::int64_t Random::rare(std::int64_t n, double p) {
  // Inversion: the smallest x whose cumulated probability exceeds u.
  const double odds = p / (1 - p);
  double mass = std::exp(static_cast<double>(n) * std::log1p(-p));
  double u = uniform();
  std::int64_t x = 0;
  while (u > mass && x < n) {
    u -= mass;
    ++x;
    mass *= odds * static_cast<double>(n - x + 1) / static_cast<double>(x);
  }
  return x;
}

std::int64_t Random::binomial(std::int64_t n, double p) {
  assert(n >= 0 && p >= 0 && p <= 1);
  if (n == 0 || p <= 0) { return 0; }
  if (p > 0.5) { return n - binomial(n, 1 - p); }
  const double mean = static_cast<double>(n) * p;
  // Beyond 50 the normal approximation's skew is below a tenth of a deviation.
  constexpr double kRare = 50;
  if (mean < kRare) { return rare(n, p); }
  const double drawn = std::round(mean + normal() * std::sqrt(mean * (1 - p)));
  return static_cast<std::int64_t>(std::clamp(drawn, 0.0, static_cast<double>(n)));
}

}  // namespace tsim::models
