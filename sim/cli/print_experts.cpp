#include "sim/cli/print_experts.hpp"

#include <ostream>
#include <string>
#include <utility>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {

double device_hours_per_trillion_tokens(const sim::Report& r) {
  constexpr double kTrillion = 1e12;
  constexpr double kHour = 3600;
  return r.devices * kTrillion / r.tokens_per_second / kHour;
}

void print_experts(const Answer& a, std::ostream& out) {
  if (a.experts.empty()) { return; }
  std::vector<Column> columns{{"layers"},
                              {"experts", Align::right},
                              {"imbalance", Align::right},
                              {"of ranks", Align::right},
                              {"dropped", Align::right},
                              {"mean expert", Align::right},
                              {"slowest", Align::right}};
  const bool shadows = a.scenario->strategy.experts.shadowing.on;
  if (shadows) { columns.push_back({"shadowed", Align::right}); }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(a.experts.size());
  for (const sim::ExpertRow& row : a.experts) {
    std::string layers = std::to_string(row.first_layer);
    if (row.last_layer != row.first_layer) {
      layers.append("-").append(std::to_string(row.last_layer));
    }
    rows.push_back({std::move(layers), std::to_string(row.experts), significant(row.imbalance, 4),
                    significant(row.rank_imbalance, 4), percent(row.dropped), format(row.mean),
                    format(row.slowest)});
    if (shadows) { rows.back().push_back(std::to_string(row.shadows)); }
  }
  out << "\nExperts (rows of the fullest over the mean; products of one expert, forward and "
         "backward)\n";
  print_table(out, columns, rows);
  if (a.scenario->workload.training) {
    out << "  a trillion tokens take "
        << significant(device_hours_per_trillion_tokens(a.report) / 1000, 4)
        << " thousand device hours\n";
  }
}

}  // namespace tsim::cli
