#include <algorithm>
#include <ostream>
#include <set>

#include "sim/cli/commands.hpp"
#include "sim/cli/validate/print_validation.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/suggest.hpp"
#include "sim/input/truth/read_split.hpp"
#include "sim/input/truth/read_truth.hpp"
#include "sim/input/truth/read_vtrain.hpp"
#include "sim/validate/run_rows.hpp"

namespace tsim::cli {
namespace {

using validate::Source;

/// All sources that were asked for; what is wrong with several files is told of the first.
std::vector<Source> read_sources(const ValidateOptions& options) {
  const bool all = options.sources.empty() && options.vtrain.empty();
  const std::vector<std::string> names = all ? sim::truth_names() : options.sources;
  std::vector<Source> sources;
  sources.reserve(names.size() + options.vtrain.size());
  for (const std::string& name : names) { sources.push_back(sim::read_truth(name)); }
  for (const auto& path : options.vtrain) { sources.push_back(sim::read_vtrain(path)); }
  return sources;
}

/// Keeps rows whose SOURCE/ROW contains `filter`, and sources that have any.
void keep_rows(const std::string& filter, std::vector<Source>& sources) {
  if (filter.empty()) { return; }
  for (Source& source : sources) {
    std::erase_if(source.rows, [&](const validate::Row& row) {
      return (source.name + "/" + row.id).find(filter) == std::string::npos;
    });
  }
  std::erase_if(sources, [](const Source& source) { return source.rows.empty(); });
  if (!sources.empty()) { return; }
  throw sim::InputErrors("tsim validate", {{.path = "--filter",
                                            .found = sim::in_quotes(filter),
                                            .expected = "a part of a row's SOURCE/ROW"}});
}

/// Rows that the devices' files say they were fitted to.
validate::FittedRows fitted_rows(const std::vector<validate::Item>& items,
                                 const sim::StandIns& stand_ins) {
  std::set<std::string> devices;
  for (const validate::Item& item : items) {
    const std::string name = sim::device_of(item.choice->document);
    const auto found = stand_ins.find(name);
    devices.insert(found == stand_ins.end() ? name : found->second);
  }
  validate::FittedRows rows;
  for (const std::string& device : devices) {
    const auto record = device.empty() ? std::nullopt : sim::fit_record_of(device);
    if (!record) { continue; }
    for (const std::string& row : record->rows) {
      const std::size_t slash = row.find('/');
      rows.emplace(row.substr(0, slash), slash == std::string::npos ? "" : row.substr(slash + 1));
    }
  }
  return rows;
}

}  // namespace

int validate_command(const ValidateOptions& options, std::ostream& out, std::ostream& err) {
  std::vector<Source> sources = read_sources(options);
  keep_rows(options.filter, sources);
  sim::StandIns stand_ins;
  for (const StandIn& one : options.devices) { stand_ins[one.device] = one.by; }
  std::vector<validate::Item> items = validate::items_of(sources);
  for (validate::Item& item : items) { item.stand_ins = &stand_ins; }
  const int jobs = options.jobs > 0 ? options.jobs : validate::available_processors();
  const std::vector<validate::Outcome> outcomes = validate::run_in_tiers(items, jobs);
  const auto results = validation(sources, outcomes, fitted_rows(items, stand_ins));
  if (!options.svg.empty()) {
    write_file(options.svg, [&](std::ostream& file) { draw_validation(results, file); });
  }
  if (!options.html.empty()) {
    write_file(options.html, [&](std::ostream& file) { print_validation_html(results, file); });
  }
  if (!options.markdown.empty()) {
    write_file(options.markdown, [&](std::ostream& file) {
      print_validation_markdown(results, options.svg.filename().string(), file);
    });
  }
  (options.json ? print_validation_json : print_validation_text)(results, out);
  const std::vector<std::string> broken = broken_promises(results);
  for (const std::string& line : broken) { err << "tsim: broken promise of " << line << '\n'; }
  return broken.empty() ? 0 : kNoAnswer;
}

}  // namespace tsim::cli
