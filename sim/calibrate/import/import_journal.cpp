// What tsim-measure wrote: one JSON object a line (docs/measure.md).
#include <algorithm>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::calibrate {
namespace {

using sim::Json;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) { lines.push_back(text.substr(at, end - at)); }
    at = end + 1;
  }
  return lines;
}

cost::Provenance header_facts(const Json& header) {
  cost::Provenance source;
  for (const auto& [key, value] : header.items()) {
    const std::string name = key == "version" ? "tsim_version" : key;
    if (key == "tsim") { continue; }
    source.facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return source;
}

/// Seconds of a microseconds' key; 0 when it is not there or no number above zero.
Seconds time_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool good = found != object.end() && found->is_number() && found->get<double>() > 0;
  return Seconds{good ? found->get<double>() * 1e-6 : 0};
}

/// Range of the clocks that the lines note, as a fact.
class Clocks {
 public:
  void note(const Json& object) {
    const auto found = object.find("sm_mhz");
    if (found == object.end() || !found->is_number()) { return; }
    const auto mhz = static_cast<int>(found->get<double>());
    low_ = low_ == 0 ? mhz : std::min(low_, mhz);
    high_ = std::max(high_, mhz);
  }
  void add_to(cost::Provenance& source) const {
    if (high_ == 0) { return; }
    source.facts.emplace_back(
        "sm_mhz", low_ == high_ ? std::to_string(low_)
                                : std::to_string(low_) + " to " + std::to_string(high_));
  }

 private:
  int low_ = 0, high_ = 0;
};

}  // namespace

ImportedPoints import_journal(std::string_view text, sim::Problems& problems) {
  ImportedPoints imported{.format = "measurements of tsim-measure"};
  const std::vector<std::string_view> lines = lines_of(text);
  Clocks clocks;
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string place = "line " + std::to_string(i + 1);
    const Json object = Json::parse(lines[i], nullptr, false);
    if (!object.is_object()) {
      problems.add({.path = place, .found = "no JSON object", .expected = "one on each line"});
      continue;
    }
    if (object.contains("tsim")) {
      imported.source = header_facts(object);
      continue;
    }
    const std::string work = object.contains("work") && object["work"].is_string()
                                 ? object["work"].get<std::string>()
                                 : std::string();
    const std::optional<cost::Subject> subject = cost::subject_of(work);
    if (!subject) {
      problems.add({.path = place,
                    .found = "\"" + work + "\"",
                    .expected = "a work line (tsim-measure --forms)"});
      continue;
    }
    const Seconds median = time_at(object, "us");
    skipped += median.value > 0 ? 0 : 1;
    if (median.value <= 0) { continue; }
    const Seconds low = time_at(object, "low");
    const Seconds high = time_at(object, "high");
    const auto count = object.value("count", Json(0));
    clocks.note(object);
    imported.points.push_back(
        {*subject,
         {.shape = subject->shape,
          .median = median,
          .low = low.value > 0 ? low : median,
          .high = high.value > 0 ? high : median,
          .cold = time_at(object, "cold_us"),
          .count = count.is_number_integer() ? std::max(0, count.get<int>()) : 0}});
  }
  clocks.add_to(imported.source);
  if (skipped > 0) {
    imported.remarks.push_back(std::to_string(skipped) +
                               " lines without a time: the machine could not do them");
  }
  return imported;
}

}  // namespace tsim::calibrate
