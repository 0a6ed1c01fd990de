// System files of SimuMax: the share of the peak that a product of a given shape reaches, measured
// on the machine (github.com/MooreThreads/SimuMax, configs/system).
#include <charconv>
#include <map>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::calibrate {
namespace {

using sim::Json;

/// "m" -> "4096" of "b=1, m=4096, k=5120, n=1536, layout=TN, accumulate=False".
std::map<std::string, std::string> fields_of(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view field = text.substr(at, end - at);
    const std::size_t equals = field.find('=');
    const std::size_t begin = field.find_first_not_of(' ');
    if (equals != std::string_view::npos && begin < equals) {
      fields.emplace(field.substr(begin, equals - begin), field.substr(equals + 1));
    }
    at = end + 1;
  }
  return fields;
}

/// Layouts as column-major BLAS names them: TN is x W^T, NN dy W, NT dy^T x.
std::string transposes_of(std::map<std::string, std::string>& fields) {
  const std::string& layout = fields["layout"];
  if (layout == "TN") { return "nt"; }
  if (layout == "NN") { return "nn"; }
  if (layout != "NT") { return {}; }
  return fields["accumulate"] == "True" ? "tn+" : "tn";
}

std::optional<cost::Subject> subject_of(std::map<std::string, std::string>& fields) {
  const std::string transposes = transposes_of(fields);
  const std::string shape = " " + fields["m"] + " " + fields["n"] + " " + fields["k"];
  if (fields["b"] == "1") { return cost::subject_of("gemm bf16 " + transposes + shape); }
  return cost::subject_of("bmm bf16 " + transposes + " " + fields["b"] + shape);
}

double number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0.0;
}

/// `key` of `object`; an empty object when it is none.
const Json& member(const Json& object, const char* key) {
  static const Json none = Json::object();
  const auto at = object.find(key);
  return at != object.end() && at->is_object() ? *at : none;
}

/// The points of `efficiencies`; how many keys were of unknown form.
std::size_t add_points(const Json& efficiencies, double peak, std::vector<ImportedPoint>& points) {
  std::size_t unknown = 0;
  for (const auto& [key, value] : efficiencies.items()) {
    std::map<std::string, std::string> fields = fields_of(key);
    const std::optional<cost::Subject> subject = subject_of(fields);
    const double share = value.is_number() ? value.get<double>() : 0.0;
    if (!subject || share <= 0) {
      ++unknown;
      continue;
    }
    double flops = 2;
    for (const std::int64_t n : subject->shape) { flops *= static_cast<double>(n); }
    const Seconds time{flops / (peak * share)};
    ImportedPoint& point = points.emplace_back();
    point.subject = *subject;
    point.point = {.shape = subject->shape, .median = time, .low = time, .high = time};
  }
  return unknown;
}

}  // namespace

ImportedPoints import_simumax(std::string_view text, sim::Problems& problems) {
  ImportedPoints imported{.format = "a system file of SimuMax"};
  const std::optional<Json> document = sim::parse_json(text, "", problems);
  if (!document || !document->is_object()) { return imported; }
  const Json& operations = member(member(*document, "accelerator"), "op");
  const Json& products = member(operations, "matmul");
  const double peak = number_at(products, "tflops") * 1e12;
  const Json& efficiencies = member(products, "accurate_efficient_factor");
  if (peak <= 0 || efficiencies.empty()) {
    problems.add({.path = "/accelerator/op/matmul",
                  .found = "no efficiencies by shape",
                  .expected = "tflops and accurate_efficient_factor"});
    return imported;
  }
  const auto name = document->find("sys_name");
  if (name != document->end() && name->is_string()) {
    imported.source.facts.emplace_back("system", name->get<std::string>());
  }
  imported.source.facts.emplace_back("figures", "SimuMax: efficiencies of a peak, turned to times");
  const std::size_t unknown = add_points(efficiencies, peak, imported.points);
  if (unknown > 0) {
    imported.remarks.push_back(std::to_string(unknown) + " products of unknown form");
  }
  if (!member(member(operations, "sdp_fwd"), "accurate_efficient_factor").empty()) {
    imported.remarks.emplace_back("attention: the file does not say which FLOPs its shares count");
  }
  return imported;
}

}  // namespace tsim::calibrate
