#include "sim/cli/validate/validation_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/cli/format.hpp"

namespace tsim::cli {
namespace {

using validate::ErrorSummary;
using validate::RowResult;
using validate::SourceResult;

std::string mean_of(const ErrorSummary& errors) {
  return errors.rows == 0 ? "-" : percent(errors.mean);
}

std::string fraction(int part, int whole) {
  return whole == 0 ? "-" : std::to_string(part) + "/" + std::to_string(whole);
}

std::vector<std::string> source_cells(const SourceResult& r) {
  const bool timed = r.step.rows > 0;
  std::array<char, 16> order{"-"};
  if (!std::isnan(r.order)) { std::snprintf(order.data(), order.size(), "%.2f", r.order); }
  return {r.source->name,
          fraction(r.ran, static_cast<int>(r.source->rows.size())),
          mean_of(r.held_out),
          mean_of(r.fitted),
          timed ? percent(r.step.median) : "-",
          timed ? signed_percent(r.step.worst) : "-",
          timed ? signed_percent(r.step.bias) : "-",
          order.data(),
          mean_of(r.closed_form),
          mean_of(r.memory),
          fraction(r.verdicts_right, r.verdicts),
          fraction(r.wide_rows, r.open_rows)};
}

std::string seconds(double value) { return value > 0 ? format(Seconds{value}) : "-"; }

/// What is to be known about a row: its reading, and marks.
std::string remarks(const RowResult& row) {
  std::string text = row.reading;
  const auto add = [&](const std::string& remark) { text += (text.empty() ? "" : "; ") + remark; };
  if (row.low < row.high) {
    add(std::string(row.wide ? "wide band " : "band ") + seconds(row.low) + " to " +
        seconds(row.high));
  }
  if (row.fitted) { add("fitted"); }
  if (row.row->weak) { add("not counted"); }
  if (!row.fits) { add("does not fit"); }
  if (!row.row->note.empty()) { add(row.row->note); }
  return text;
}

std::string memory_error(const RowResult& row) {
  return row.memory_error ? signed_percent(*row.memory_error) : "";
}

std::string verdict(const RowResult& row) {
  return !row.verdict_right ? "" : *row.verdict_right ? "right" : "wrong";
}

}  // namespace

std::string signed_percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%+.1f %%", 100 * share);
  return text.data();
}

Table sources_table(std::span<const SourceResult> results) {
  Table table{{{"source", Align::left},
               {"rows run", Align::right},
               {"mean error", Align::right},
               {"of fitted", Align::right},
               {"median", Align::right},
               {"worst", Align::right},
               {"bias", Align::right},
               {"order", Align::right},
               {"closed form", Align::right},
               {"memory", Align::right},
               {"verdicts", Align::right},
               {"wide/open", Align::right}},
              {}};
  table.rows.reserve(results.size() + 1);
  int ran = 0;
  std::size_t all = 0;
  for (const SourceResult& result : results) {
    table.rows.push_back(source_cells(result));
    ran += result.ran;
    all += result.rows.size();
  }
  if (results.size() > 1) {
    std::vector<std::string> total(table.columns.size(), "");
    total[0] = "all";
    total[1] = std::to_string(ran) + "/" + std::to_string(all);
    table.rows.push_back(std::move(total));
  }
  return table;
}

Table rows_table(const SourceResult& result) {
  Table table{{{"row", Align::left},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"error", Align::right},
               {"memory", Align::right},
               {"verdict", Align::right},
               {"remarks", Align::left}},
              {}};
  table.rows.reserve(result.rows.size());
  for (const RowResult& row : result.rows) {
    if (!row.ran) { continue; }
    table.rows.push_back({row.row->id, seconds(row.measured), seconds(row.predicted),
                          row.error ? signed_percent(*row.error) : "", memory_error(row),
                          verdict(row), remarks(row)});
  }
  return table;
}

Table explained_table(const SourceResult& result) {
  Table table{{{"row", Align::left}, {"error", Align::right}}, {}};
  for (std::size_t i = 0; i < validate::kParts; ++i) {
    table.columns.push_back({std::string(name_of(static_cast<validate::Part>(i))), Align::right});
  }
  for (const RowResult& row : result.rows) {
    const bool large = row.error && std::abs(*row.error) > validate::kExplainedError;
    const bool known =
        std::any_of(row.parts.begin(), row.parts.end(), [](double part) { return part > 0; });
    if (!row.ran || !large || !known) { continue; }
    std::vector<std::string> cells{row.row->id, signed_percent(*row.error)};
    for (const double part : row.parts) { cells.push_back(percent(part)); }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table missing_table(const SourceResult& result) {
  Table table{{{"row", Align::left}, {"why it does not run", Align::left}}, {}};
  for (const RowResult& row : result.rows) {
    if (!row.ran) { table.rows.push_back({row.row->id, row.why}); }
  }
  return table;
}

std::string missed_goals(const SourceResult& result) {
  std::string text;
  for (const std::string& line : broken(result, result.source->goal)) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

}  // namespace tsim::cli
