// What a search found, as text, JSON or CSV.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/sweep/database.hpp"
#include "sim/sweep/run_sweep.hpp"
#include "sim/sweep/tornado.hpp"

namespace tsim::cli {

/// Titles and cells of the answers: what varies, both tiers' figures, the objectives.
struct AnswerTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

void print_sweep_text(const sim::SweepSpec& spec, const sim::SweepReport& report,
                      std::ostream& out);
void print_sweep_json(const sim::SweepSpec& spec, const sim::SweepReport& report,
                      std::ostream& out);
void print_sweep_csv(const sim::SweepSpec& spec, const sim::SweepReport& report, std::ostream& out);

/// What removed how many points, most first.
void print_removed(const sim::Counts& counts, std::ostream& out);

void print_rows_text(const sim::Rows& rows, std::ostream& out);
void print_rows_json(const sim::Rows& rows, std::ostream& out);
void print_csv_line(const std::vector<std::string>& cells, std::ostream& out);

void print_tornado(const sim::Tornado& tornado, bool json, std::ostream& out);

}  // namespace tsim::cli
