#include "sim/validate/statistics.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace tsim::validate;

TEST_CASE("a summary of errors: means, the median of their sizes, the worst with its sign") {
  // Sizes 0, 0.01, 0.02, 0.05: mean 0.02, median 0.015; signed sum -0.04, mean -0.01.
  const std::array errors{0.02, -0.01, -0.05, 0.0};
  const ErrorSummary s = summary_of(errors);
  CHECK(s.rows == 4);
  CHECK(s.mean == doctest::Approx(0.02));
  CHECK(s.median == doctest::Approx(0.015));
  CHECK(s.worst == -0.05);
  CHECK(s.bias == doctest::Approx(-0.01));
  CHECK(summary_of(std::array<double, 0>{}).rows == 0);
}

TEST_CASE("rank correlation: 1 for the same order, -1 for the reverse, ties share ranks") {
  const std::array a{1.0, 2.0, 3.0, 4.0};
  CHECK(rank_correlation(a, std::array{10.0, 20.0, 25.0, 400.0}) == doctest::Approx(1.0));
  CHECK(rank_correlation(a, std::array{4.0, 3.0, 2.0, 1.0}) == doctest::Approx(-1.0));
  // Ranks 0, 1.5, 1.5, 3 against 0..3: covariance 4.5, variances 5 and 4.5.
  CHECK(rank_correlation(a, std::array{1.0, 5.0, 5.0, 9.0}) ==
        doctest::Approx(4.5 / std::sqrt(5.0 * 4.5)));
  CHECK(std::isnan(rank_correlation(std::array{1.0, 2.0}, std::array{1.0, 2.0})));
  CHECK(std::isnan(rank_correlation(a, std::array{7.0, 7.0, 7.0, 7.0})));
}
