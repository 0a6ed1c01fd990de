#include "cost/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace tsim::cost {
namespace {

Eigen::Index as_index(std::size_t i) { return static_cast<Eigen::Index>(i); }

std::size_t terms_of(std::size_t n, int degree) {
  return 1 + n + (degree == 2 ? n * (n + 1) / 2 : 0);
}

/// 1, x_i and with degree 2 also x_i x_j.
Eigen::RowVectorXd row_of(const MeasuredPoint& point, std::size_t n, int degree) {
  Eigen::RowVectorXd row(as_index(terms_of(n, degree)));
  Eigen::Index at = 0;
  row(at++) = 1;
  for (std::size_t i = 0; i < n; ++i) { row(at++) = point.at[i]; }
  for (std::size_t i = 0; degree == 2 && i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) { row(at++) = point.at[i] * point.at[j]; }
  }
  return row;
}

struct Line {
  double alpha = 0;  // seconds
  double beta = 0;   // seconds a byte
  double squares = std::numeric_limits<double>::infinity();
};

double squares_of(std::span<const Timed> points, double alpha, double beta) {
  double sum = 0;
  for (const Timed& p : points) {
    const double error = (alpha + beta * p.bytes) / p.seconds - 1;
    sum += error * error;
  }
  return sum;
}

/// Least squares of relative errors: every row is divided by its time. When one of the two would
/// be negative, the best with that one zero.
Line line_through(std::span<const Timed> points) {
  Eigen::MatrixXd rows(as_index(points.size()), 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    rows(as_index(i), 0) = 1 / points[i].seconds;
    rows(as_index(i), 1) = points[i].bytes / points[i].seconds;
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(rows.rows());
  const Eigen::Vector2d both = rows.colPivHouseholderQr().solve(ones);
  double alpha = both(0);
  double beta = both(1);
  if (alpha < 0) {
    alpha = 0;
    beta = rows.col(1).sum() / rows.col(1).squaredNorm();
  } else if (beta <= 0) {
    beta = 0;
    alpha = rows.col(0).sum() / rows.col(0).squaredNorm();
  }
  return {alpha, beta, squares_of(points, alpha, beta)};
}

AlphaBeta regime(std::span<const Timed> points, const Line& line) {
  const double rate = line.beta > 0 ? 1 / line.beta : 1e18;
  return {.alpha = Seconds{line.alpha},
          .rate = BytesPerSecond{rate},
          .least = Bytes{static_cast<std::int64_t>(points.front().bytes)},
          .most = Bytes{static_cast<std::int64_t>(points.back().bytes)},
          .residual = std::sqrt(line.squares / static_cast<double>(points.size())),
          .points = static_cast<int>(points.size())};
}

}  // namespace

std::optional<Surface> fit_surface(const Series& series) {
  const std::size_t n = counts_of(series.key.kind);
  const std::size_t points = series.points.size();
  if (n == 0 || points < 2 * terms_of(n, 1)) { return std::nullopt; }
  const int degree = points >= 3 * terms_of(n, 2) ? 2 : 1;
  Eigen::MatrixXd rows(as_index(points), as_index(terms_of(n, degree)));
  Eigen::VectorXd logs(as_index(points));
  for (std::size_t i = 0; i < points; ++i) {
    rows.row(as_index(i)) = row_of(series.points[i], n, degree);
    logs(as_index(i)) = std::log2(series.points[i].ratio);
  }
  // The smallest solution, so that counts that never change get no say.
  const Eigen::VectorXd found = rows.completeOrthogonalDecomposition().solve(logs);
  const Eigen::VectorXd errors = ((rows * found - logs).array() * std::log(2.0)).exp() - 1;
  Surface surface{.coefficients = {found.data(), found.data() + found.size()},
                  .residual = std::sqrt(errors.squaredNorm() / static_cast<double>(points)),
                  .points = static_cast<int>(points)};
  for (std::size_t i = 0; i < n; ++i) {
    const auto [low, high] = std::minmax_element(
        series.points.begin(), series.points.end(),
        [i](const MeasuredPoint& a, const MeasuredPoint& b) { return a.at[i] < b.at[i]; });
    surface.low.push_back(low->at[i]);
    surface.high.push_back(high->at[i]);
  }
  return surface;
}

std::vector<AlphaBeta> fit_links(std::span<const Timed> points) {
  constexpr std::size_t kLeastSide = 4;
  const Line whole = line_through(points);
  Line below;
  Line above;
  std::size_t border = 0;
  double least = whole.squares / 2;
  for (std::size_t cut = kLeastSide; cut + kLeastSide <= points.size(); ++cut) {
    const Line first = line_through(points.first(cut));
    const Line second = line_through(points.subspan(cut));
    if (first.squares + second.squares < least) {
      least = first.squares + second.squares;
      below = first;
      above = second;
      border = cut;
    }
  }
  if (border == 0) { return {regime(points, whole)}; }
  return {regime(points.first(border), below), regime(points.subspan(border), above)};
}

FloorLine fit_floor(std::span<const Timed> points) {
  FloorLine best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t cut = 1; cut + 2 <= points.size(); ++cut) {
    std::vector<double> low;
    low.reserve(cut);
    for (const Timed& p : points.first(cut)) { low.push_back(p.seconds); }
    const auto middle = low.begin() + static_cast<std::ptrdiff_t>(cut / 2);
    std::nth_element(low.begin(), middle, low.end());
    const Line line = line_through(points.subspan(cut));
    double squares = 0;
    for (const Timed& p : points) {
      const double error = std::max(*middle, line.alpha + line.beta * p.bytes) / p.seconds - 1;
      squares += error * error;
    }
    if (squares >= least) { continue; }
    least = squares;
    best = {*middle, line.alpha, line.beta,
            std::sqrt(squares / static_cast<double>(points.size()))};
  }
  return best;
}

std::vector<double> left_out_errors(const Series& series) {
  std::vector<double> errors;
  errors.reserve(series.points.size());
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    Series others{.key = series.key, .points = series.points};
    others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(i));
    const MeasuredPoint& point = series.points[i];
    const std::optional<FoundRatio> found = find_ratio(others, point.shape);
    if (found) { errors.push_back(std::abs(found->ratio / point.ratio - 1)); }
  }
  return errors;
}

}  // namespace tsim::cost
