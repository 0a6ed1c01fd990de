// Least squares through measured points.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cost/measured.hpp"

namespace tsim::cost {

/// A surface through the indexed points of a series: of degree 2 when there are three points or
/// more for each coefficient, else of degree 1; none with fewer than two for each of those. A count
/// that is the same in all points takes no part.
std::optional<Surface> fit_surface(const Series& series);

/// One message size and its time.
struct Timed {
  double bytes = 0;
  double seconds = 0;
};

/// time = alpha + bytes / rate by least squares of relative errors in one or two regimes; the
/// border is where the sum of both is least. Points are sorted by size; two at least. Neither alpha
/// nor the time of a byte is below zero. A second regime needs four points on each side and has to
/// halve the squares.
std::vector<AlphaBeta> fit_links(std::span<const Timed> points);

/// time = max(floor, alpha + bytes / rate): what a communication library takes, whose host and
/// kernels need `floor` for the smallest message.
struct FloorLine {
  double floor = 0, alpha = 0, per_byte = 0;  // seconds
  double residual = 0;                        // root of the mean square, as a share of the time
};

/// The best of those whose floor is the median of the first so many points and whose line is that
/// of the others, by least squares of relative errors. Points are sorted by size; three at least.
FloorLine fit_floor(std::span<const Timed> points);

/// |predicted / measured - 1| of every point of an indexed series when it is left out and looked up
/// among the others, for those that have a neighbour near enough.
std::vector<double> left_out_errors(const Series& series);

}  // namespace tsim::cost
