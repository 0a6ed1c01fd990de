#include "sim/input/points/write_points.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace tsim::sim {
namespace {

using Json = nlohmann::ordered_json;

/// To five digits: more is noise.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) { return 0; }
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

double us(Seconds time) { return rounded(time.value * 1e6); }

Json rounded_list(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) { list.push_back(std::round(value * 1e6) / 1e6); }
  return list;
}

Json source_json(const cost::Provenance& source) {
  Json json = Json::object();
  for (const auto& [key, value] : source.facts) { json[key] = value; }
  return json;
}

Json point_json(const cost::SeriesKey& key, const cost::MeasuredPoint& p) {
  Json json{{"work", cost::line_of({key, p.shape})}, {"us", us(p.median)}};
  if (p.low != p.median || p.high != p.median) {
    json["low"] = us(p.low);
    json["high"] = us(p.high);
  }
  if (p.cold.value > 0) { json["cold_us"] = us(p.cold); }
  if (p.count > 0) { json["count"] = p.count; }
  if (p.source > 0) { json["source"] = p.source; }
  return json;
}

Json surface_json(const cost::Series& series) {
  const cost::Surface& s = *series.surface;
  return {{"series", cost::name_of(series.key)}, {"coefficients", rounded_list(s.coefficients)},
          {"low", rounded_list(s.low)},          {"high", rounded_list(s.high)},
          {"residual", rounded(s.residual)},     {"points", s.points}};
}

Json link_json(const cost::AlphaBeta& l) {
  Json json{{"operation", l.operation}};
  if (l.ranks > 0) { json["ranks"] = l.ranks; }
  json["alpha_us"] = us(l.alpha);
  json["bytes_per_s"] = rounded(l.rate.value);
  json["least_bytes"] = l.least.value;
  json["most_bytes"] = l.most.value;
  json["residual"] = rounded(l.residual);
  json["points"] = l.points;
  return json;
}

/// A list with one entry a line.
void add_list(const std::string& key, const std::vector<Json>& entries, std::string& text) {
  text += ",\n\"" + key + "\": [";
  const char* separator = "\n";
  for (const Json& entry : entries) {
    text += separator + entry.dump();
    separator = ",\n";
  }
  text += "]";
}

}  // namespace

std::string points_text(const cost::Measured& measured) {
  std::vector<Json> sources, points, surfaces, links;
  for (const cost::Provenance& source : measured.sources) {
    sources.push_back(source_json(source));
  }
  for (const cost::Series& series : measured.series) {
    for (const cost::MeasuredPoint& p : series.points) {
      points.push_back(point_json(series.key, p));
    }
    if (series.surface) { surfaces.push_back(surface_json(series)); }
  }
  for (const cost::AlphaBeta& link : measured.links) { links.push_back(link_json(link)); }
  std::string text = R"({"schema": "tsim-points", "version": 1)";
  add_list("sources", sources, text);
  add_list("points", points, text);
  if (!surfaces.empty()) { add_list("surfaces", surfaces, text); }
  if (!links.empty()) { add_list("links", links, text); }
  return text + "}\n";
}

}  // namespace tsim::sim
