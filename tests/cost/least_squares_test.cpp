#include "cost/least_squares.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace tsim::cost;

namespace {

using Points = std::vector<std::vector<double>>;

/// Residuals of a exp(-b x) against y at x = 0, 1, 2, 3.
ResidualsOf decay(const std::vector<double>& y) {
  return [y](const Points& points) {
    Points lists;
    for (const std::vector<double>& p : points) {
      std::vector<double> residuals;
      for (std::size_t x = 0; x < y.size(); ++x) {
        residuals.push_back(p[0] * std::exp(-p[1] * static_cast<double>(x)) - y[x]);
      }
      lists.push_back(residuals);
    }
    return lists;
  };
}

}  // namespace

TEST_CASE("least squares finds the parameters that exact values come from") {
  // y = 3 exp(-0.5 x)
  const std::vector<double> y{3.0, 3.0 * std::exp(-0.5), 3.0 * std::exp(-1.0),
                              3.0 * std::exp(-1.5)};
  const SquaresFit fit = least_squares({{1.0, 0.1, 10.0}, {1.5, 0.0, 2.0}}, decay(y));
  CHECK(fit.values[0] == doctest::Approx(3.0).epsilon(1e-4));
  CHECK(fit.values[1] == doctest::Approx(0.5).epsilon(1e-4));
  CHECK(fit.after < 1e-4);
  CHECK(fit.before > 0.5);
}

TEST_CASE("least squares of a mean gives the mean and its standard error") {
  // Residuals p - y of 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 3, error sqrt(14/3 / 4).
  const auto residuals = [](const Points& points) {
    Points lists;
    for (const std::vector<double>& p : points) {
      lists.push_back({p[0] - 1, p[0] - 2, p[0] - 3, p[0] - 6});
    }
    return lists;
  };
  const SquaresFit fit = least_squares({{0.0, -10.0, 10.0}}, residuals);
  CHECK(fit.values[0] == doctest::Approx(3.0).epsilon(1e-6));
  CHECK(fit.errors[0] == doctest::Approx(std::sqrt(14.0 / 12.0)).epsilon(1e-6));
}

TEST_CASE("least squares stays within bounds, and moves the other parameters on") {
  // (a - 2)^2 + (b - 5)^2 with a at most 1: the least is at (1, 5).
  const auto residuals = [](const Points& points) {
    Points lists;
    for (const std::vector<double>& p : points) { lists.push_back({p[0] - 2, p[1] - 5, 0.1}); }
    return lists;
  };
  const SquaresFit fit = least_squares({{0.5, 0.0, 1.0}, {1.0, 0.0, 10.0}}, residuals);
  CHECK(fit.values[0] == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(fit.values[1] == doctest::Approx(5.0).epsilon(1e-4));
}

TEST_CASE("a parameter that nothing depends on has an infinite error") {
  const auto residuals = [](const Points& points) {
    Points lists;
    for (const std::vector<double>& p : points) { lists.push_back({p[0] - 1, p[0] + 1, p[0]}); }
    return lists;
  };
  const SquaresFit fit = least_squares({{0.5, -1.0, 1.0}, {0.5, 0.0, 1.0}}, residuals);
  CHECK(std::isinf(fit.errors[1]));
  CHECK(fit.values[1] == 0.5);
}
