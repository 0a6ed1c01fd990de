// Figures of one device fitted to whole steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/least_squares.hpp"
#include "sim/validate/split.hpp"
#include "sim/validate/truth.hpp"
#include "sim/validate/validation.hpp"

namespace tsim::validate {

/// A source's errors with the figures that were fitted without it.
struct LeftOut {
  std::string source{};
  ErrorSummary before{}, after{};
  std::vector<double> values{};  // what the others gave
};

struct DeviceFit {
  cost::SquaresFit fit;              // by formula where there is one
  double before = 0, after = 0;      // root of the mean squared log ratio, by events
  std::vector<std::string> rows;     // that were fitted to: SOURCE/ROW
  std::vector<std::string> not_run;  // training rows without an answer: SOURCE/ROW: why
  std::vector<LeftOut> left_out;     // one a source, when there are several
};

/// The training rows of `split` among `sources`; rows that are weak, that have no figure of speed,
/// or that are on another device are no training rows.
std::vector<Source> training_rows(const Split& split, std::vector<Source> sources);

/// Least squares of log(predicted / measured), all sources weighted alike, by formula where the
/// schedule has one; what is reported of the fitted figures is by events. A row with several
/// readings takes the nearest. `training` as training_rows() gives it.
DeviceFit fit_device(const Split& split, std::span<const Source> training, int jobs);

}  // namespace tsim::validate
