// Non-linear least squares of a few bounded parameters.
#pragma once

#include <functional>
#include <vector>

namespace tsim::cost {

/// A parameter's start and bounds; least < most.
struct Bounded {
  double start = 0, least = 0, most = 1;
};

/// Residuals for each of several points (parameter values each), in the points' order. All points
/// have as many residuals, one at least.
using ResidualsOf =
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)>;

struct SquaresFit {
  std::vector<double> values{};
  /// Standard errors from the residuals' variance and the curvature at the end; infinite where the
  /// residuals do not depend on the parameter, or there are no more residuals than parameters.
  std::vector<double> errors{};
  double before = 0, after = 0;  // root of the mean squared residual
  int rounds = 0;                // steps that were tried
};

/// Levenberg-Marquardt with finite differences of a thousandth of each range. A step ends at the
/// bounds; a parameter at a bound that the gradient pushes outwards does not move. Ends when a step
/// gains less than a ten-thousandth of the squares, or after `most_rounds`.
///   [Marquardt, J. SIAM 11(2), 1963; Madsen, Nielsen, Tingleff, IMM 2004, sec. 3.2]
SquaresFit least_squares(const std::vector<Bounded>& parameters, const ResidualsOf& residuals_of,
                         int most_rounds = 20);

}  // namespace tsim::cost
