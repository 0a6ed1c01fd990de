#include "sim/input/truth/read_split.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "sim/input/data_files.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using validate::FitParameter;
using validate::FitRows;
using validate::Split;

constexpr std::array kDimensions{Dimension::time, Dimension::rate, Dimension::size,
                                 Dimension::compute};
constexpr double kAnything = 1e30;

fs::path device_path(const std::string& device, const fs::path& folder) {
  const auto path =
      looks_like_path(device) ? find_path(device, folder) : find_named(device, "devices", folder);
  return path.value_or(fs::path());
}

/// The figure at `at` of a device file, written plainly or beside its source; null: none.
Json figure_at(const Json& device, const std::string& at) {
  const Json::json_pointer pointer(at);
  if (!device.contains(pointer)) { return nullptr; }
  const Json& found = device[pointer];
  return found.is_object() && found.contains("value") ? found["value"] : found;
}

/// The number that a figure is, in base units, and what it measures.
std::optional<double> number_of(const Json& figure, std::optional<Dimension>& dimension) {
  if (figure.is_number()) { return figure.get<double>(); }
  if (!figure.is_string()) { return std::nullopt; }
  for (const Dimension one : kDimensions) {
    const ParsedQuantity parsed = parse_quantity(figure.get<std::string>(), one);
    if (!parsed.value) { continue; }
    dimension = one;
    return parsed.value;
  }
  return std::nullopt;
}

double read_bound(const Place& place, const std::optional<Dimension>& dimension) {
  return dimension ? read_quantity(place, *dimension, {}, true)
                   : read_real(place, {.least = -kAnything, .most = kAnything});
}

FitParameter read_parameter(const Place& place, const Json& device) {
  Reader in(place);
  FitParameter parameter;
  const Place at = in.take("at");
  parameter.at = read_text(at);
  parameter.meaning = read_text(in.take("meaning"));
  const bool pointer = parameter.at.starts_with('/') && parameter.at.find('~') == std::string::npos;
  const auto start =
      pointer ? number_of(figure_at(device, parameter.at), parameter.dimension) : std::nullopt;
  if (!start) { at.fail(in_quotes(parameter.at), "a figure of the device such as /gemm/ceiling"); }
  parameter.start = start.value_or(0);
  parameter.least = read_bound(in.take("least"), parameter.dimension);
  const Place most = in.take("most");
  parameter.most = read_bound(most, parameter.dimension);
  if (!(parameter.least < parameter.most)) { most.fail(most.found(), "more than \"least\""); }
  in.finish();
  return parameter;
}

FitRows read_rows(const Place& place) {
  Reader in(place);
  FitRows rows{read_text(in.take("source")), read_text(in.take("rows"), "")};
  in.finish();
  return rows;
}

void read_lists(Reader& in, const Json& device, Split& split) {
  const Place parameters = in.take("parameters"), train = in.take("train");
  for (const Place& entry : read_entries(parameters)) {
    split.parameters.push_back(read_parameter(entry, device));
  }
  for (const Place& entry : read_entries(train)) { split.train.push_back(read_rows(entry)); }
  if (split.parameters.empty()) { parameters.fail("no parameters", "one at least"); }
  if (split.train.empty()) { train.fail("no rows to fit to", "one source at least"); }
}

/// To five digits: more are no result of a fit, and differ between machines.
double rounded(double value) {
  std::ostringstream out;
  out << std::setprecision(5) << value;
  return std::strtod(out.str().c_str(), nullptr);
}

/// `value` as a device file states it: a number, or a text with its unit.
Json figure_text(const FitParameter& parameter, double value) {
  if (!parameter.dimension) { return value; }
  return quantity_text(value, *parameter.dimension);
}

}  // namespace

Split read_split(const fs::path& path) {
  Problems problems;
  Split split{.name = path.stem().string()};
  std::string why;
  const std::optional<std::string> text = file_text(path, why);
  if (!text) { throw InputErrors(path.string(), {{.path = {}, .found = why}}); }
  const std::optional<Json> document = parse_json(*text, "", problems);
  if (document) {
    const Source source{.problems = &problems};
    Reader in(Place{&*document, "", &source});
    const Place device = in.take("device");
    split.device = read_text(device);
    const fs::path file = device_path(split.device, path.parent_path());
    const std::optional<Json> figures =
        file.empty() ? std::nullopt : read_json_file(file, problems);
    if (file.empty()) { device.fail(in_quotes(split.device), "the name or path of a device"); }
    read_lists(in, figures.value_or(Json::object()), split);
    in.finish();
  }
  if (!problems.empty()) { throw InputErrors(path.string(), problems.errors()); }
  return split;
}

std::string changed_device(const Split& split, const std::vector<double>& values) {
  Json device{{"base", split.device}, {"name", split.device}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    device[Json::json_pointer(split.parameters[i].at)] =
        figure_text(split.parameters[i], values[i]);
  }
  return device.dump();
}

validate::FitRecord read_fit_record(const Place& place) {
  Reader in(place);
  validate::FitRecord record{.split = read_text(in.take("split"))};
  for (const Place& row : read_entries(in.take("rows"))) { record.rows.push_back(read_text(row)); }
  const RealRange residual{.least = 0.0, .most = kAnything};
  read_real(in.take("residual_before"), residual);
  read_real(in.take("residual_after"), residual);
  for (const Place& entry : read_entries(in.take("parameters"))) {
    Reader one(entry);
    read_text(one.take("at"));
    read_text(one.take("meaning"));
    read_text(one.take("value"));
    read_text(one.take("standard_error"));
    one.finish();
  }
  in.finish();
  return record;
}

std::optional<validate::FitRecord> fit_record_of(const std::string& device) {
  const fs::path path = device_path(device, fs::path());
  if (path.empty()) { return std::nullopt; }
  Problems problems;
  const std::optional<Json> document = read_json_file(path, problems);
  std::optional<validate::FitRecord> record;
  if (document && document->is_object() && document->contains("fit")) {
    const Source source{.problems = &problems};
    record = read_fit_record(Place{&(*document)["fit"], "/fit", &source});
  }
  if (!problems.empty()) { throw InputErrors(path.string(), problems.errors()); }
  return record;
}

std::string device_of(const std::string& document) {
  const Json parsed = Json::parse(document, nullptr, false);
  const Json::json_pointer place("/cluster/device");
  if (!parsed.is_object() || !parsed.contains(place)) { return {}; }
  const Json& device = parsed[place];
  const bool changed = device.is_object() && device.contains("base");
  const Json& name = changed ? device["base"] : device;
  return name.is_string() ? name.get<std::string>() : std::string();
}

std::string fitted_device(const Split& split, const FittedFigures& figures, const fs::path& path) {
  Problems problems;
  const fs::path base = device_path(split.device, fs::path());
  nlohmann::ordered_json device =
      nlohmann::ordered_json::parse(read_json_file(base, problems).value_or(Json::object()).dump());
  device["name"] = path.stem().string();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < split.parameters.size(); ++i) {
    const FitParameter& parameter = split.parameters[i];
    const Json value = figure_text(parameter, rounded(figures.values[i]));
    auto& figure = device[nlohmann::ordered_json::json_pointer(parameter.at)];
    if (figure.is_object()) {
      figure = {{"value", value}, {"source", "fitted to whole steps: see fit"}};
    } else {
      figure = value;
    }
    const Json error = std::isfinite(figures.errors[i])
                           ? figure_text(parameter, rounded(figures.errors[i]))
                           : Json("not determined");
    const auto text = [](const Json& json) {
      return json.is_string() ? json.get<std::string>() : json.dump();
    };
    list.push_back({{"at", parameter.at},
                    {"meaning", parameter.meaning},
                    {"value", text(value)},
                    {"standard_error", text(error)}});
  }
  if (device.contains("measured") && device["measured"].is_string()) {
    const fs::path points = base.parent_path() / device["measured"].get<std::string>();
    device["measured"] = fs::proximate(points, fs::absolute(path).parent_path()).string();
  }
  device["fit"] = {{"split", split.name},
                   {"rows", figures.rows},
                   {"residual_before", rounded(figures.before)},
                   {"residual_after", rounded(figures.after)},
                   {"parameters", list}};
  return device.dump(2) + "\n";
}

}  // namespace tsim::sim
