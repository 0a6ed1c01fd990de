// Measured against predicted: rows, sources, broken promises.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/validate/outcome.hpp"
#include "sim/validate/statistics.hpp"

namespace tsim::validate {

/// A row whose band is wider than this (high / low - 1) says little and is marked.
inline constexpr double kWideBand = 0.10;
/// A larger error is explained by where the step goes.
inline constexpr double kExplainedError = 0.10;

/// One row. Of several legal readings the one whose step is nearest to the measured one counts, of
/// those by events if there are any, and all of them are the band; readings that do not fit in
/// memory are left out when others do.
struct RowResult {
  const Row* row = nullptr;
  bool ran = false;
  std::string why{};              // it did not
  double measured = 0;            // seconds; 0: no figure of speed
  double predicted = 0;           // seconds
  double low = 0, high = 0;       // of all readings
  double closed_form = 0;         // seconds; 0: none
  std::optional<double> error{};  // of the step, signed; 0 within the figure's last digit
  std::optional<double> memory_error{};
  double memory = 0;  // predicted, bytes
  std::optional<bool> verdict_right{};
  bool fits = true;
  std::string reading{};  // what was taken for what the source leaves open
  bool wide = false;
  bool fitted = false;  // a parameter of its device was fitted to it
  Parts parts{};
};

struct SourceResult {
  const Source* source = nullptr;
  std::vector<RowResult> rows{};
  int ran = 0;
  int open_rows = 0, wide_rows = 0;           // of those that ran: with a band, with a wide one
  int weak_rows = 0;                          // that ran and are not counted
  ErrorSummary step{}, held_out{}, fitted{};  // all counted rows; those not fitted to; the others
  ErrorSummary closed_form{};                 // step errors of the closed form alone
  ErrorSummary memory{};
  double order = 0;  // rank correlation of measured and predicted steps; NaN: too few
  int verdicts = 0, verdicts_right = 0;
};

/// Rows that parameters were fitted to, as (source, row).
using FittedRows = std::set<std::pair<std::string, std::string>>;

/// Results by source; `outcomes` are those of items_of(sources).
std::vector<SourceResult> validation(std::span<const Source> sources,
                                     std::span<const Outcome> outcomes, const FittedRows& fitted);

/// Signed error of an outcome's step; 0 without a figure of speed.
double error_of(const Outcome& outcome);

/// Signed error of `step` against a figure that lies between `low` and `high`; 0 inside.
double step_error(double step, double low, double high);

/// What a source's result breaks of `bounds`, one line each: "mean step error 5.1 %, at most 4 %".
/// Bounds on steps hold for held-out rows.
std::vector<std::string> broken(const SourceResult& result, const Bounds& bounds);

}  // namespace tsim::validate
