#include "strategies/token_slices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace tsim::strategies;

namespace {

using Lengths = std::vector<std::int64_t>;

/// Every way to cut `units` into slices; the least time of all.
double by_trying(const SliceProblem& p, const SliceTime& time) {
  const auto units = static_cast<unsigned>(p.sequence / p.unit);
  double least = 1e300;
  for (unsigned cuts = 0; cuts < (1U << (units - 1)); ++cuts) {
    Lengths lengths{p.unit};
    for (unsigned i = 0; i + 1 < units; ++i) {
      if ((cuts >> i & 1U) != 0) {
        lengths.push_back(p.unit);
      } else {
        lengths.back() += p.unit;
      }
    }
    least = std::min(least, slices_time(lengths, p.stages, time));
  }
  return least;
}

}  // namespace

TEST_CASE("slices that cost something each are longer when more samples follow") {
  // A slice takes 1 + its tokens. Of 4 tokens and 4 stages one slice takes 5 S + 3 x 5 for S
  // samples, two 6 S + 3 x 3, four 8 S + 3 x 2: 20, 15, 14; 40, 39, 46; 60, 63, 78.
  const auto time = [](std::int64_t length, std::int64_t) {
    return 1.0 + static_cast<double>(length);
  };
  SliceProblem problem{.sequence = 4, .unit = 1, .stages = 4};
  CHECK(balanced_slices(problem, time) == Lengths{1, 1, 1, 1});
  problem.samples = 5;
  CHECK(balanced_slices(problem, time) == Lengths{2, 2});
  problem.samples = 9;
  CHECK(balanced_slices(problem, time) == Lengths{4});
}

TEST_CASE("without stages to fill a sample stays whole, as every slice costs its start") {
  const SliceTime time = [](std::int64_t l, std::int64_t) { return 1.0 + static_cast<double>(l); };
  CHECK(balanced_slices({.sequence = 32, .unit = 4, .stages = 1}, time) == Lengths{32});
}

TEST_CASE("slices that cost their length alone are even, as many as the ramp is worth") {
  // n slices of 64/n tokens and a start of 1 each: n + 64 + (K-1)(1 + 64/n), least at
  // n = sqrt(64 (K-1)) = 16 for K = 5.
  const SliceTime time = [](std::int64_t l, std::int64_t) { return 1.0 + static_cast<double>(l); };
  CHECK(balanced_slices({.sequence = 64, .unit = 1, .stages = 5}, time) == Lengths(16, 4));
}

TEST_CASE("slices get shorter as their context grows") {
  // Attention: each token looks back at all before it.
  const SliceTime time = [](std::int64_t l, std::int64_t c) {
    return 8.0 + static_cast<double>(l) * (1.0 + 0.1 * static_cast<double>(c + l));
  };
  const Lengths lengths = balanced_slices({.sequence = 128, .unit = 2, .stages = 8}, time);
  CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == 128);
  CHECK(lengths.size() > 2);
  CHECK(lengths.front() > lengths.back());
  CHECK(slices_time(lengths, 8, time) <
        slices_time(even_slices(128, 2, static_cast<int>(lengths.size())), 8, time));
}

TEST_CASE("no other cut takes less") {
  for (const int stages : {1, 2, 4, 9}) {
    for (const double look_back : {0.0, 0.05, 0.5}) {
      const SliceTime time = [look_back](std::int64_t l, std::int64_t c) {
        return 3.0 + static_cast<double>(l) * (1.0 + look_back * static_cast<double>(2 * c + l));
      };
      const SliceProblem problem{.sequence = 24, .unit = 2, .stages = stages};
      const double found = slices_time(balanced_slices(problem, time), stages, time);
      CHECK(found == doctest::Approx(by_trying(problem, time)).epsilon(1e-12));
    }
  }
}

TEST_CASE("even slices differ by one unit at most and sum to the whole") {
  CHECK(even_slices(100, 10, 4) == Lengths{30, 30, 20, 20});
  CHECK(even_slices(64, 1, 4) == Lengths(4, 16));
}
