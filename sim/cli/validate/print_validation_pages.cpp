#include <cmath>
#include <ostream>

#include "sim/cli/validate/print_validation.hpp"
#include "sim/cli/validate/validation_tables.hpp"

namespace tsim::cli {
namespace {

using validate::SourceResult;

constexpr std::string_view kHow =
    "Each row is a run that was published or measured, as its source states it, simulated with the "
    "device files as they are. Errors are predicted step / measured step - 1; positive is too "
    "slow. "
    "What a source leaves open (micro-batches, chunks, recomputation) is tried over its legal "
    "values: the nearest counts, the band of all is printed, and a band of more than 10 % is "
    "marked wide, because such a row says little. Rows that were read off charts or not verified "
    "are shown and not counted. Mean errors are of rows that nothing was fitted to; where a device "
    "file's figures were fitted to rows (tsim fit), these are listed apart. Rows that do not run "
    "count against the coverage.";

constexpr std::string_view kNotModelled =
    "Not modelled: file input, evaluation and checkpoints; clocks that sink under load and with "
    "the temperature; noise of shared networks and hosts; fragmentation of an allocator's cache "
    "(what a device shows as used is compared with allocations plus the context); kernels of "
    "single libraries' versions, whose rates change between releases.";

void markdown_table(const Table& table, std::ostream& out) {
  const auto line = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) { out << "| " << cell << ' '; }
    out << "|\n";
  };
  std::vector<std::string> titles;
  titles.reserve(table.columns.size());
  for (const Column& column : table.columns) { titles.push_back(column.title); }
  line(titles);
  for (const Column& column : table.columns) {
    out << (column.align == Align::right ? "|---:" : "|---");
  }
  out << "|\n";
  for (const auto& row : table.rows) { line(row); }
}

void markdown_source(const SourceResult& result, std::ostream& out) {
  out << "\n### " << result.source->name << "\n\n"
      << result.source->title << ". " << result.source->citation << "\n\n";
  for (const std::string& note : result.source->notes) { out << "- " << note << '\n'; }
  if (!result.source->notes.empty()) { out << '\n'; }
  markdown_table(rows_table(result), out);
  const Table explained = explained_table(result);
  if (!explained.rows.empty()) {
    out << "\nWhere the predicted step goes, for errors above 10 %:\n\n";
    markdown_table(explained, out);
  }
  const Table missing = missing_table(result);
  if (!missing.rows.empty()) {
    out << '\n';
    markdown_table(missing, out);
  }
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

void html_table(const Table& table, std::ostream& out) {
  out << "<table><tr>";
  for (const Column& column : table.columns) { out << "<th>" << escaped(column.title) << "</th>"; }
  out << "</tr>\n";
  for (const auto& row : table.rows) {
    out << "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (table.columns[i].align == Align::right ? "<td class=\"r\">" : "<td>")
          << escaped(row[i]) << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</table>\n";
}

void html_source(const SourceResult& result, std::ostream& out) {
  out << "<details><summary>" << escaped(result.source->name) << ": "
      << escaped(result.source->title) << "</summary>\n<p>" << escaped(result.source->citation)
      << "</p>\n";
  for (const std::string& note : result.source->notes) {
    out << "<p>" << escaped(note) << "</p>\n";
  }
  html_table(rows_table(result), out);
  for (const Table& table : {explained_table(result), missing_table(result)}) {
    if (!table.rows.empty()) { html_table(table, out); }
  }
  out << "</details>\n";
}

Table goals_table(std::span<const SourceResult> results) {
  Table table{{{"source", Align::left}, {"goals that are missed", Align::left}}, {}};
  for (const SourceResult& result : results) {
    const std::string missed = missed_goals(result);
    if (!missed.empty()) { table.rows.push_back({result.source->name, missed}); }
  }
  return table;
}

}  // namespace

void print_validation_markdown(std::span<const SourceResult> results, const std::string& plot,
                               std::ostream& out) {
  out << "# Accuracy\n\nWritten by `tsim validate --markdown`. " << kHow << "\n\n"
      << kNotModelled << "\n\n";
  if (!plot.empty()) { out << "![Predicted against measured steps](" << plot << ")\n\n"; }
  markdown_table(sources_table(results), out);
  const Table goals = goals_table(results);
  if (!goals.rows.empty()) {
    out << '\n';
    markdown_table(goals, out);
  }
  out << "\n## Rows\n";
  for (const SourceResult& result : results) { markdown_source(result, out); }
}

void print_validation_html(std::span<const SourceResult> results, std::ostream& out) {
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tsim: "
         "accuracy</title>\n<style>body{font-family:sans-serif;margin:2em}table{border-collapse:"
         "collapse;font-size:13px;margin:1em 0}td,th{padding:2px 8px;border-bottom:1px solid "
         "#ddd;text-align:left}td.r{text-align:right}summary{cursor:pointer;margin:.5em 0}"
         "</style></head>\n<body><h1>Accuracy</h1>\n<p>"
      << escaped(kHow) << "</p>\n<p>" << escaped(kNotModelled) << "</p>\n";
  draw_validation(results, out);
  html_table(sources_table(results), out);
  const Table goals = goals_table(results);
  if (!goals.rows.empty()) { html_table(goals, out); }
  for (const SourceResult& result : results) { html_source(result, out); }
  out << "</body></html>\n";
}

}  // namespace tsim::cli
