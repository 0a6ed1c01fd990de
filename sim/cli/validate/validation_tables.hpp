// The tables of `validate`, as cells: text, Markdown and HTML print the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/cli/text_table.hpp"
#include "sim/validate/validation.hpp"

namespace tsim::cli {

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// One row a source: coverage, errors, order, verdicts.
Table sources_table(std::span<const validate::SourceResult> results);
/// Rows of a source that ran.
Table rows_table(const validate::SourceResult& result);
/// Where the step goes, for rows with an error above kExplainedError.
Table explained_table(const validate::SourceResult& result);
/// Rows that did not run, each with the reason.
Table missing_table(const validate::SourceResult& result);

/// "+2.3 %"
std::string signed_percent(double share);
/// What goals a source misses, as `broken` says it; empty: none.
std::string missed_goals(const validate::SourceResult& result);

}  // namespace tsim::cli
