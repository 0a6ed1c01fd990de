// The answer of `tsim run`, for people and for programs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/report/expert_rows.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario.hpp"

namespace tsim::cli {

struct Answer {
  std::string name;  // of a variant; the scenario's own first
  const sim::Scenario* scenario = nullptr;
  sim::Report report;
  std::vector<sim::ExpertRow> experts;  // none without experts
};

/// The first answer in full; the others in one table with it.  answers.size() >= 1.
void print_text(const std::vector<Answer>& answers, std::ostream& out);
/// The same as JSON, schema version 1 (docs/report.md).
void print_json(const std::vector<Answer>& answers, std::ostream& out);

}  // namespace tsim::cli
