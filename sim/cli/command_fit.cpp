#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/validate/validation_tables.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/truth/read_split.hpp"
#include "sim/input/truth/read_truth.hpp"
#include "sim/validate/fit_device.hpp"
#include "sim/validate/run_rows.hpp"

namespace tsim::cli {
namespace {

using validate::DeviceFit;
using validate::FitParameter;
using validate::Split;

std::vector<validate::Source> training(const Split& split) {
  std::set<std::string> names;
  for (const validate::FitRows& rows : split.train) { names.insert(rows.source); }
  std::vector<validate::Source> sources;
  sources.reserve(names.size());
  for (const std::string& name : names) { sources.push_back(sim::read_truth(name)); }
  return training_rows(split, std::move(sources));
}

std::string figure(const FitParameter& parameter, double value) {
  if (!std::isfinite(value)) { return "not determined"; }
  if (parameter.dimension == sim::Dimension::time) { return format(Seconds{value}); }
  return parameter.dimension ? sim::quantity_text(std::stod(significant(value * 1e9, 4)) / 1e9,
                                                  *parameter.dimension)
                             : significant(value, 3);
}

void print_parameters(const Split& split, const DeviceFit& fit, std::ostream& out) {
  Table table{{{"figure", Align::left},
               {"before", Align::right},
               {"fitted", Align::right},
               {"standard error", Align::right},
               {"bounds", Align::left},
               {"meaning", Align::left}},
              {}};
  for (std::size_t i = 0; i < split.parameters.size(); ++i) {
    const FitParameter& p = split.parameters[i];
    table.rows.push_back({p.at, figure(p, p.start), figure(p, fit.fit.values[i]),
                          figure(p, fit.fit.errors[i]),
                          figure(p, p.least) + " to " + figure(p, p.most), p.meaning});
  }
  print_table(out, table.columns, table.rows);
}

void print_left_out(const DeviceFit& fit, std::ostream& out) {
  if (fit.left_out.empty()) {
    out << "\nOne source: no cross-validation over sources\n";
    return;
  }
  Table table{{{"left out", Align::left},
               {"rows", Align::right},
               {"error before", Align::right},
               {"bias", Align::right},
               {"error after", Align::right},
               {"bias", Align::right}},
              {}};
  for (const validate::LeftOut& one : fit.left_out) {
    table.rows.push_back({one.source, std::to_string(one.after.rows), percent(one.before.mean),
                          signed_percent(one.before.bias), percent(one.after.mean),
                          signed_percent(one.after.bias)});
  }
  out << "\nEach source with the figures that the others give\n";
  print_table(out, table.columns, table.rows);
}

}  // namespace

int fit_command(const FitOptions& options, std::ostream& out, std::ostream& err) {
  const Split split = sim::read_split(options.split);
  const std::vector<validate::Source> sources = training(split);
  if (sources.empty()) {
    throw sim::InputErrors(options.split.string(),
                           {{.path = "/train",
                             .found = "no rows on " + split.device,
                             .expected = "rows with a step time that name this device"}});
  }
  const int jobs = options.jobs > 0 ? options.jobs : validate::available_processors();
  const DeviceFit fit = fit_device(split, sources, jobs);
  for (const std::string& row : fit.not_run) { err << "tsim: not fitted to " << row << '\n'; }
  if (fit.rows.empty()) {
    err << "tsim: no training row has an answer\n";
    return kNoAnswer;
  }
  out << split.device << " fitted to " << fit.rows.size() << " rows of " << sources.size()
      << (sources.size() == 1 ? " source" : " sources") << ": residual " << percent(fit.before)
      << " before, " << percent(fit.after) << " after, " << fit.fit.rounds << " rounds\n";
  print_parameters(split, fit, out);
  print_left_out(fit, out);
  if (!options.out.empty()) {
    const std::string text = sim::fitted_device(
        split, {fit.fit.values, fit.fit.errors, fit.rows, fit.before, fit.after}, options.out);
    write_file(options.out, [&](std::ostream& file) { file << text; });
  }
  return 0;
}

}  // namespace tsim::cli
