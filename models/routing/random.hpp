// Random numbers that are the same on every platform.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace tsim::models {

/// SplitMix64 [Steele, Lea, Flood, OOPSLA 2014, fig. 17].
class Random {
 public:
  /// A stream of its own for every list of numbers, for instance {seed, layer, micro-batch}.
  explicit Random(std::initializer_list<std::uint64_t> key);

  std::uint64_t next();
  /// In [0, 1), 53 bits.
  double uniform();
  /// In [0, n).  n >= 1.
  std::uint64_t below(std::uint64_t n);
  /// Normally distributed, mean 0, deviation 1.
  double normal();
  /// Successes in `n` trials of probability `p`.  n >= 0, p in [0, 1].
  std::int64_t binomial(std::int64_t n, double p);

 private:
  std::int64_t rare(std::int64_t n, double p);

  std::uint64_t state_ = 0;
};

}  // namespace tsim::models
