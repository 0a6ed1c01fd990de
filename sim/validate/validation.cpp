#include "sim/validate/validation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tsim::validate {
namespace {

/// Of the outcomes of a row's readings: those that ran, without those that do not fit in memory
/// when others do.
std::vector<std::size_t> candidates(std::span<const Outcome> outcomes) {
  std::vector<std::size_t> ran, fit;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].ran) { continue; }
    ran.push_back(i);
    if (outcomes[i].fits) { fit.push_back(i); }
  }
  return fit.empty() ? ran : fit;
}

/// The reading whose step is nearest to what was measured, by events if any is; the first without
/// a figure of speed.
std::size_t nearest(std::span<const Outcome> outcomes, const std::vector<std::size_t>& among) {
  return *std::min_element(among.begin(), among.end(), [&](std::size_t a, std::size_t b) {
    if (outcomes[a].by_formula != outcomes[b].by_formula) { return outcomes[b].by_formula; }
    return std::abs(error_of(outcomes[a])) < std::abs(error_of(outcomes[b]));
  });
}

RowResult row_result(const Row& row, std::span<const Outcome> outcomes) {
  RowResult result{.row = &row};
  const std::vector<std::size_t> among = candidates(outcomes);
  if (among.empty()) {
    result.why = outcomes.front().why.data();
    return result;
  }
  const std::size_t taken = nearest(outcomes, among);
  const Outcome& outcome = outcomes[taken];
  result.ran = true;
  result.reading = row.choices[taken].label;
  result.predicted = result.low = result.high = outcome.step;
  for (const std::size_t i : among) {
    result.low = std::min(result.low, outcomes[i].step);
    result.high = std::max(result.high, outcomes[i].step);
  }
  result.wide = result.high > result.low * (1 + kWideBand);
  result.closed_form = outcome.closed_form;
  result.measured = (outcome.measured_low + outcome.measured_high) / 2;
  if (outcome.measured_high > 0) { result.error = error_of(outcome); }
  result.fits = outcome.fits;
  result.memory = outcome.memory;
  if (row.measured.memory && outcome.memory > 0) {
    result.memory_error = outcome.memory / to_double(*row.measured.memory) - 1;
  }
  if (row.measured.fits) { result.verdict_right = *row.measured.fits == outcome.fits; }
  result.parts = outcome.parts;
  return result;
}

/// Errors of a source's counted rows.
struct Errors {
  std::vector<double> all, held_out, fitted, closed_form, memory, measured, predicted;
};

void add_row(const RowResult& row, Errors& errors) {
  if (row.memory_error) { errors.memory.push_back(*row.memory_error); }
  if (!row.error) { return; }
  errors.all.push_back(*row.error);
  (row.fitted ? errors.fitted : errors.held_out).push_back(*row.error);
  errors.measured.push_back(row.measured);
  errors.predicted.push_back(row.predicted);
  if (row.closed_form > 0) { errors.closed_form.push_back(row.closed_form / row.measured - 1); }
}

void count(const RowResult& row, SourceResult& result) {
  if (!row.ran) { return; }
  ++result.ran;
  result.open_rows += row.row->choices.size() > 1 ? 1 : 0;
  result.wide_rows += row.wide ? 1 : 0;
  result.weak_rows += row.row->weak ? 1 : 0;
  if (row.verdict_right) {
    ++result.verdicts;
    result.verdicts_right += *row.verdict_right ? 1 : 0;
  }
}

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
  return text.data();
}

}  // namespace

double error_of(const Outcome& outcome) {
  if (outcome.measured_high == 0) { return 0; }
  return step_error(outcome.step, outcome.measured_low, outcome.measured_high);
}

double step_error(double step, double low, double high) {
  if (step < low) { return step / low - 1; }
  if (step > high) { return step / high - 1; }
  return 0;
}

std::vector<SourceResult> validation(std::span<const Source> sources,
                                     std::span<const Outcome> outcomes, const FittedRows& fitted) {
  std::vector<SourceResult> results;
  results.reserve(sources.size());
  std::size_t next = 0;
  for (const Source& source : sources) {
    SourceResult result{.source = &source};
    Errors errors;
    result.rows.reserve(source.rows.size());
    for (const Row& row : source.rows) {
      RowResult one = row_result(row, outcomes.subspan(next, row.choices.size()));
      next += row.choices.size();
      one.fitted = row.fitted || fitted.count({source.name, row.id}) != 0;
      count(one, result);
      if (!row.weak) { add_row(one, errors); }
      result.rows.push_back(std::move(one));
    }
    result.step = summary_of(errors.all);
    result.held_out = summary_of(errors.held_out);
    result.fitted = summary_of(errors.fitted);
    result.closed_form = summary_of(errors.closed_form);
    result.memory = summary_of(errors.memory);
    result.order = rank_correlation(errors.measured, errors.predicted);
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<std::string> broken(const SourceResult& result, const Bounds& bounds) {
  std::vector<std::string> lines;
  const auto at_most = [&](const char* what, double found, const std::optional<double>& bound) {
    if (bound && found > *bound) {
      lines.push_back(std::string(what) + " " + percent(found) + ", at most " + percent(*bound));
    }
  };
  const auto at_least = [&](const char* what, int part, int whole,
                            const std::optional<double>& bound) {
    const double share = whole == 0 ? 0.0 : static_cast<double>(part) / whole;
    if (bound && share < *bound) {
      lines.push_back(std::string(what) + " " + percent(share) + ", at least " + percent(*bound));
    }
  };
  at_most("mean step error", result.held_out.mean, bounds.step);
  at_most("step bias", std::abs(result.held_out.bias), bounds.bias);
  at_most("mean memory error", result.memory.mean, bounds.memory);
  at_least("verdicts right", result.verdicts_right, result.verdicts, bounds.verdicts);
  at_least("coverage", result.ran, static_cast<int>(result.rows.size()), bounds.coverage);
  return lines;
}

}  // namespace tsim::validate
