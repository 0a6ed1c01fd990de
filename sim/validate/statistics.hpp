// Figures of merit of many errors.
#pragma once

#include <span>

namespace tsim::validate {

struct ErrorSummary {
  int rows = 0;
  double mean = 0;    // of the absolute errors
  double median = 0;  // of the absolute errors
  double worst = 0;   // signed: that of the largest absolute value
  double bias = 0;    // mean of the signed errors
};

/// `errors`: signed, predicted / measured - 1. All zero when there are none.
ErrorSummary summary_of(std::span<const double> errors);

/// Spearman's rank correlation, equal values sharing their mean rank: 1 when `b` orders as `a`
/// does. NaN with fewer than three values, or when all of one list are equal.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace tsim::validate
