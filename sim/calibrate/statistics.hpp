// Repeated times of one thing, and when they suffice.
#pragma once

#include <vector>

namespace tsim::calibrate {

/// Microseconds. `low` and `high` are the quartiles of the times that are no outliers.
struct Summary {
  double median = 0, low = 0, high = 0;
  int count = 0;
  std::vector<double> outliers;  // farther than 5 median deviations from the median, and 2 %
};

/// At least one time.
Summary summarise(std::vector<double> times);

/// Half the width of the median's 95 % interval (1.57 interquartile ranges over sqrt n, McGill et
/// al., The American Statistician 32, 1978), as a share of the median.
double uncertainty(const Summary& summary);

}  // namespace tsim::calibrate
