#include <ostream>

#include "sim/cli/validate/print_validation.hpp"
#include "sim/cli/validate/validation_tables.hpp"

namespace tsim::cli {
namespace {

using validate::SourceResult;

void print(const Table& table, std::ostream& out) { print_table(out, table.columns, table.rows); }

void print_source(const SourceResult& result, std::ostream& out) {
  out << result.source->name << ": " << result.source->title << '\n';
  print(rows_table(result), out);
  const Table missing = missing_table(result);
  if (!missing.rows.empty()) {
    out << '\n';
    print(missing, out);
  }
  const Table explained = explained_table(result);
  if (!explained.rows.empty()) {
    out << "\nWhere the predicted step goes, for errors above 10 %\n";
    print(explained, out);
  }
  out << '\n';
}

/// "Missed goals" and the like, with the lines that `lines_of` gives for each source.
void print_missed(std::span<const SourceResult> results, std::ostream& out) {
  bool first = true;
  for (const SourceResult& result : results) {
    const std::string missed = missed_goals(result);
    if (missed.empty()) { continue; }
    if (first) { out << "\nGoals that are missed\n"; }
    first = false;
    out << "  " << result.source->name << ": " << missed << '\n';
  }
}

}  // namespace

std::vector<std::string> broken_promises(std::span<const SourceResult> results) {
  std::vector<std::string> lines;
  for (const SourceResult& result : results) {
    for (const std::string& line : broken(result, result.source->promise)) {
      lines.push_back(result.source->name + ": " + line);
    }
  }
  return lines;
}

void print_validation_text(std::span<const SourceResult> results, std::ostream& out) {
  for (const SourceResult& result : results) { print_source(result, out); }
  out << "Step times, predicted / measured - 1: held-out rows, rows that figures were fitted to, "
         "all\n";
  print(sources_table(results), out);
  print_missed(results, out);
}

}  // namespace tsim::cli
