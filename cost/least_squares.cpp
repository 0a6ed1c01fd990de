#include "cost/least_squares.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace tsim::cost {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double kDifference = 1e-3;  // of a parameter's range
constexpr double kLeastGain = 1e-4;   // of the squares
constexpr double kFirstDamping = 1e-3;
constexpr double kMostDamping = 1e8;

/// Parameters as shares of their ranges, so that all have the same scale.
class Problem {
 public:
  Problem(const std::vector<Bounded>& parameters, const ResidualsOf& residuals_of)
      : parameters_(parameters), residuals_of_(residuals_of) {}

  Vector start() const {
    Vector at(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      const Bounded& p = parameter(i);
      at[i] = std::clamp((p.start - p.least) / (p.most - p.least), 0.0, 1.0);
    }
    return at;
  }
  std::vector<double> values(const Vector& at) const {
    std::vector<double> result(parameters_.size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      const Bounded& p = parameter(i);
      result[static_cast<std::size_t>(i)] = p.least + at[i] * (p.most - p.least);
    }
    return result;
  }
  double range(Eigen::Index i) const { return parameter(i).most - parameter(i).least; }
  Eigen::Index size() const { return static_cast<Eigen::Index>(parameters_.size()); }

  Vector residuals(const Vector& at) const { return vector(residuals_of_({values(at)}).front()); }

  /// Residuals at `at` and their derivatives, from one call.
  void linearise(const Vector& at, Vector& residuals, Matrix& jacobian) const {
    std::vector<std::vector<double>> points{values(at)};
    points.reserve(parameters_.size() + 1);
    for (Eigen::Index i = 0; i < size(); ++i) {
      Vector moved = at;
      moved[i] += step_of(at[i]);
      points.push_back(values(moved));
    }
    const auto lists = residuals_of_(points);
    residuals = vector(lists.front());
    jacobian.resize(residuals.size(), size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      jacobian.col(i) =
          (vector(lists[static_cast<std::size_t>(i) + 1]) - residuals) / step_of(at[i]);
    }
  }

 private:
  /// Inwards from the upper bound.
  static double step_of(double at) { return at + kDifference > 1.0 ? -kDifference : kDifference; }
  const Bounded& parameter(Eigen::Index i) const {
    return parameters_[static_cast<std::size_t>(i)];
  }
  static Vector vector(const std::vector<double>& list) {
    return Eigen::Map<const Vector>(list.data(), static_cast<Eigen::Index>(list.size()));
  }

  const std::vector<Bounded>& parameters_;
  const ResidualsOf& residuals_of_;
};

/// The damped step from `at`, ended at the bounds; parameters that are held at one do not move.
Vector step_from(const Vector& at, const Matrix& squares, const Vector& gradient, double damping) {
  Matrix damped = squares;
  Vector pull = -gradient;
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    damped(i, i) += damping * std::max(squares(i, i), 1e-12);
    const bool held = (at[i] <= 0 && pull[i] < 0) || (at[i] >= 1 && pull[i] > 0);
    if (!held) { continue; }
    damped.row(i).setZero();
    damped.col(i).setZero();
    damped(i, i) = 1;
    pull[i] = 0;
  }
  const Vector step = damped.ldlt().solve(pull);
  return (at + step).cwiseMax(0.0).cwiseMin(1.0);
}

double root_mean_square(const Vector& residuals) {
  return std::sqrt(residuals.squaredNorm() / static_cast<double>(residuals.size()));
}

/// Standard errors in the parameters' own units.
std::vector<double> errors_of(const Problem& problem, const Vector& residuals,
                              const Matrix& jacobian) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Eigen::Index n = problem.size();
  std::vector<double> errors(static_cast<std::size_t>(n), kInfinite);
  if (residuals.size() <= n) { return errors; }
  const double variance = residuals.squaredNorm() / static_cast<double>(residuals.size() - n);
  const Eigen::FullPivLU<Matrix> squares(jacobian.transpose() * jacobian);
  if (!squares.isInvertible()) { return errors; }
  const Matrix covariance = variance * squares.inverse();
  for (Eigen::Index i = 0; i < n; ++i) {
    errors[static_cast<std::size_t>(i)] =
        std::sqrt(std::max(0.0, covariance(i, i))) * problem.range(i);
  }
  return errors;
}

}  // namespace

SquaresFit least_squares(const std::vector<Bounded>& parameters, const ResidualsOf& residuals_of,
                         int most_rounds) {
  assert(!parameters.empty());
  const Problem problem(parameters, residuals_of);
  Vector at = problem.start();
  Vector residuals;
  Matrix jacobian;
  problem.linearise(at, residuals, jacobian);
  SquaresFit fit{.before = root_mean_square(residuals)};
  double damping = kFirstDamping;
  while (fit.rounds < most_rounds && damping < kMostDamping) {
    ++fit.rounds;
    const Matrix squares = jacobian.transpose() * jacobian;
    const Vector next = step_from(at, squares, jacobian.transpose() * residuals, damping);
    if ((next - at).norm() < kDifference * 1e-2) { break; }
    const double found = problem.residuals(next).squaredNorm();
    const double before = residuals.squaredNorm();
    if (!(found < before)) {
      damping *= 10;
      continue;
    }
    damping = std::max(damping / 10, 1e-9);
    at = next;
    problem.linearise(at, residuals, jacobian);
    if (before - found < kLeastGain * before) { break; }
  }
  fit.values = problem.values(at);
  fit.errors = errors_of(problem, residuals, jacobian);
  fit.after = root_mean_square(residuals);
  return fit;
}

}  // namespace tsim::cost
