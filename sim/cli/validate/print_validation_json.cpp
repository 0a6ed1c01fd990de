#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "sim/cli/validate/print_validation.hpp"

namespace tsim::cli {
namespace {

using Json = nlohmann::ordered_json;
using validate::ErrorSummary;
using validate::RowResult;
using validate::SourceResult;

Json errors_json(const ErrorSummary& errors) {
  return {{"rows", errors.rows},
          {"mean_absolute", errors.mean},
          {"median_absolute", errors.median},
          {"worst", errors.worst},
          {"bias", errors.bias}};
}

Json parts_json(const validate::Parts& parts) {
  Json json;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    json[std::string(name_of(static_cast<validate::Part>(i)))] = parts[i];
  }
  return json;
}

Json row_json(const RowResult& row) {
  Json json{{"id", row.row->id}, {"ran", row.ran}};
  if (!row.ran) {
    json["why"] = row.why;
    return json;
  }
  if (row.measured > 0) { json["measured_s"] = row.measured; }
  json["predicted_s"] = row.predicted;
  if (row.error) { json["error"] = *row.error; }
  if (row.row->choices.size() > 1) {
    json["reading"] = row.reading;
    json["band_s"] = {row.low, row.high};
    json["wide"] = row.wide;
  }
  if (row.closed_form > 0) { json["closed_form_s"] = row.closed_form; }
  if (row.memory_error) {
    json["measured_memory_bytes"] = row.row->measured.memory->value;
    json["predicted_memory_bytes"] = row.memory;
    json["memory_error"] = *row.memory_error;
  }
  if (row.verdict_right) {
    json["fits"] = row.fits;
    json["verdict_right"] = *row.verdict_right;
  }
  json["fitted"] = row.fitted;
  json["counted"] = !row.row->weak;
  json["parts"] = parts_json(row.parts);
  return json;
}

Json source_json(const SourceResult& result) {
  Json rows = Json::array();
  for (const RowResult& row : result.rows) { rows.push_back(row_json(row)); }
  Json json{{"name", result.source->name},
            {"title", result.source->title},
            {"citation", result.source->citation},
            {"rows", result.source->rows.size()},
            {"ran", result.ran},
            {"step_error", errors_json(result.step)},
            {"held_out", errors_json(result.held_out)},
            {"fitted", errors_json(result.fitted)},
            {"closed_form", errors_json(result.closed_form)},
            {"memory_error", errors_json(result.memory)}};
  json["rank_correlation"] = std::isnan(result.order) ? Json(nullptr) : Json(result.order);
  json["verdicts"] = {{"rows", result.verdicts}, {"right", result.verdicts_right}};
  json["broken_promises"] = broken(result, result.source->promise);
  json["missed_goals"] = broken(result, result.source->goal);
  json["results"] = std::move(rows);
  return json;
}

}  // namespace

void print_validation_json(std::span<const SourceResult> results, std::ostream& out) {
  Json sources = Json::array();
  for (const SourceResult& result : results) { sources.push_back(source_json(result)); }
  out << Json{{"schema", "tsim-validation-1"}, {"sources", std::move(sources)}}.dump(2) << '\n';
}

}  // namespace tsim::cli
