#include "sim/sweep/spec_flags.hpp"

#include <algorithm>

#include "sim/input/read_scenario.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

namespace fs = std::filesystem;

/// JSON, or text where it is none.
Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Json range_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  Json range{{"from", value_of(parts[0])}};
  const std::vector<std::string> by_factor = split(parts[1], '*');
  range["to"] = value_of(by_factor[0]);
  if (by_factor.size() == 2) { range["factor"] = value_of(by_factor[1]); }
  if (parts.size() == 3) { range["step"] = value_of(parts[2]); }
  return range;
}

Json values_of(const std::string& text) {
  if (text.starts_with('[') || text.starts_with('{')) { return value_of(text); }
  if (text == "rest") { return text; }
  if (text.starts_with('=')) { return text.substr(1); }
  const auto colons = std::ranges::count(text, ':');
  if (colons == 1 || colons == 2) { return range_of(text); }
  Json list = Json::array();
  for (const std::string& part : split(text, ',')) { list.push_back(value_of(part)); }
  return list;
}

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) { list.push_back(text); }
  return list;
}

Json read_file(const fs::path& path) {
  std::string why;
  const auto text = file_text(path, why);
  if (!text) { throw InputErrors(path.string(), {{.path = {}, .found = why}}); }
  Problems problems;
  auto document = parse_json(*text, "", problems);
  if (!document) { throw InputErrors(path.string(), problems.errors()); }
  return std::move(*document);
}

void add_numbers(const SpecFlags& flags, Json& document) {
  const auto set = [&](const char* key, const auto& value) {
    if (value) { document[key] = *value; }
  };
  set("top", flags.top);
  set("events", flags.events);
  set("samples", flags.samples);
  set("seed", flags.seed);
  set("price", flags.price);
  set("power", flags.power);
  set("tokens", flags.tokens);
  if (flags.memory_margin) { document["limits"]["memory_margin"] = *flags.memory_margin; }
  if (!flags.step_time.empty()) { document["limits"]["step_time"] = flags.step_time; }
}

/// The scenario itself where its values are set or usual axes are asked for.
void settle_scenario(const SpecFlags& flags, const fs::path& beside, Json& document) {
  const bool usual = document.contains("vary") && document["vary"] == "usual";
  if (flags.settings.empty() && !usual) { return; }
  Problems problems;
  fs::path file = beside;
  if (document["scenario"].is_string()) {
    file = beside.parent_path() / document["scenario"].get<std::string>();
    Json scenario = read_file(file);
    if (scenario.is_object()) { scenario.erase("compare"); }
    document["scenario"] = std::move(scenario);
  }
  for (const std::string& setting : flags.settings) {
    apply_override(document["scenario"], setting, problems);
  }
  if (usual && problems.empty()) {
    const Scenario scenario = read_open_scenario(document["scenario"], file, problems);
    if (problems.empty()) {
      document["vary"] = usual_axes(scenario);
      document["where"].push_back("pipeline > 1 || chunks == 1");  // chunks of one stage are it
    }
  }
  if (!problems.empty()) { throw InputErrors(file.string(), problems.errors()); }
}

/// Divisors of `n` up to `most`.
Json divisors(std::int64_t n, std::int64_t most) {
  Json list = Json::array();
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) { list.push_back(d); }
  }
  return list;
}

}  // namespace

Json usual_precision(const Json& document, const fs::path& file) {
  Problems problems;
  const Scenario scenario = read_open_scenario(document, file, problems);
  if (!problems.empty()) { throw InputErrors(file.string(), problems.errors()); }
  for (const models::DType format :
       {models::DType::bf16, models::DType::fp16, models::DType::int16}) {
    const auto computes = [format](const cost::Device& d) { return peak(d, format).has_value(); };
    if (std::ranges::all_of(scenario.cluster.devices, computes)) {
      return {{"compute", models::name_of(format)}, {"gradient", "fp32"}};
    }
  }
  return {{"compute", "fp32"}};
}

Json usual_axes(const Scenario& s) {
  const auto devices = static_cast<std::int64_t>(s.cluster.topology.devices.size());
  std::int64_t in_node = 0;
  for (int d = 0; d < static_cast<int>(devices); ++d) {
    in_node += node_of(s.cluster.topology, d) == node_of(s.cluster.topology, 0) ? 1 : 0;
  }
  const std::int64_t layers = layer_count(s.model);
  Json vary;
  vary["/strategy/tensor"] = divisors(devices, std::max<std::int64_t>(1, in_node));
  vary["/strategy/pipeline"] = divisors(devices, layers);
  vary["/strategy/data"] = "rest";
  vary["/strategy/chunks"] = divisors(layers, layers);
  vary["/strategy/schedule"] = {"1f1b", "interleaved"};
  vary["/strategy/recompute"] = {"none", "selective", "full"};
  vary["/strategy/sequence_parallel"] = {false, true};
  vary["/strategy/zero"] = {0, 1, 2, 3};
  vary["/strategy/overlap_gradients"] = {false, true};
  vary["/strategy/overlap_tensor"] = {false, true};
  Json batches = Json::array();
  for (std::int64_t b = 1; b <= 16 && s.workload.global_batch % b == 0; b *= 2) {
    batches.push_back(b);
  }
  vary["/workload/micro_batch"] = batches;
  return vary;
}

SweepSpec read_usual_spec(Json document, const std::vector<std::string>& settings) {
  document["vary"] = "usual";
  SpecFlags flags;
  flags.settings = settings;
  settle_scenario(flags, "the flags", document);
  return read_spec(document, "the flags");
}

SweepSpec read_spec(const fs::path& spec, const SpecFlags& flags) {
  Json document = spec.empty() ? Json::object() : read_file(spec);
  const fs::path file = spec.empty() ? fs::path("the flags") : spec;
  if (!document.is_object()) { return read_spec(document, file); }
  if (!flags.scenario.empty()) {
    // A flag's path is relative to the working folder, a spec's to the spec.
    document["scenario"] = spec.empty() ? flags.scenario : fs::absolute(flags.scenario).string();
  }
  if (!flags.search.empty()) { document["search"] = flags.search; }
  if (!flags.objectives.empty()) { document["objective"] = list_of(flags.objectives); }
  Json axes = document.value("vary", Json::object());
  for (const std::string& text : flags.vary) {
    if (!axes.is_object()) { axes = Json::object(); }
    const std::size_t equals = text.find('=');
    axes[text.substr(0, equals)] = values_of(text.substr(equals + 1));
  }
  if (flags.vary.empty() && !document.contains("vary") && document.contains("scenario")) {
    axes = "usual";
  }
  if (!axes.empty()) { document["vary"] = axes; }
  Json where = document.value("where", Json::array());
  if (where.is_string()) { where = Json::array({where}); }
  for (const std::string& text : flags.where) { where.push_back(text); }
  if (!where.empty()) { document["where"] = where; }
  add_numbers(flags, document);
  if (document.contains("scenario")) { settle_scenario(flags, file, document); }
  return read_spec(document, file);
}

}  // namespace tsim::sim
