// What tsim-measure wrote: one JSON object a line (docs/measure.md).
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

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

/// How products and what ran beside them slowed each other, as facts.
class Overlaps {
 public:
  /// A line of an overlap: with one rank beside a copy, else beside a collective.
  void note(const cost::Subject& subject, const Json& object) {
    constexpr std::size_t kRanks = 3;
    const bool copy = subject.shape[kRanks] == 1;
    take(object, "product_slowdown", copy ? product_beside_copy_ : product_beside_collective_);
    take(object, "other_slowdown", copy ? copy_ : collective_);
  }
  void add_to(ImportedPoints& imported) const {
    add("products_beside_collective", product_beside_collective_, imported.source);
    add("collective_beside_products", collective_, imported.source);
    add("products_beside_copy", product_beside_copy_, imported.source);
    add("copy_beside_products", copy_, imported.source);
    imported.slowdowns = product_beside_collective_;
  }

 private:
  static void take(const Json& object, const char* key, std::vector<double>& factors) {
    const auto found = object.find(key);
    const bool good = found != object.end() && found->is_number() && found->get<double>() > 0;
    if (good) { factors.push_back(found->get<double>()); }
  }
  static void add(const char* name, const std::vector<double>& factors, cost::Provenance& source) {
    if (factors.empty()) { return; }
    const auto [low, high] = std::minmax_element(factors.begin(), factors.end());
    std::array<char, 64> text{};
    const int size =
        std::snprintf(text.data(), text.size(), "%.2f to %.2f of the time alone", *low, *high);
    source.facts.emplace_back(name, std::string(text.data(), static_cast<std::size_t>(size)));
  }

  std::vector<double> product_beside_collective_, collective_, product_beside_copy_, copy_;
};

/// Reads lines one by one.
class JournalReader {
 public:
  explicit JournalReader(sim::Problems& problems) : problems_(problems) {}

  void read(std::string_view line, std::size_t number) {
    const std::string place = "line " + std::to_string(number);
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
      problems_.add({.path = place, .found = "no JSON object", .expected = "one on each line"});
    } else if (object.contains("tsim")) {
      imported_.source = header_facts(object);
    } else {
      read_work(object, place);
    }
  }

  ImportedPoints finish() && {
    clocks_.add_to(imported_.source);
    overlaps_.add_to(imported_);
    if (skipped_ > 0) {
      imported_.remarks.push_back(std::to_string(skipped_) +
                                  " lines without a time: the machine could not do them");
    }
    return std::move(imported_);
  }

 private:
  void read_work(const Json& object, const std::string& place) {
    const auto found = object.find("work");
    const std::string work =
        found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
    const std::optional<cost::Subject> subject = cost::subject_of(work);
    if (!subject) {
      problems_.add({.path = place,
                     .found = "\"" + work + "\"",
                     .expected = "a work line (tsim-measure --forms)"});
    } else if (time_at(object, "us").value <= 0) {
      ++skipped_;
    } else {
      clocks_.note(object);
      if (subject->series.kind == cost::PointKind::overlap) { overlaps_.note(*subject, object); }
      add_point(*subject, object);
    }
  }

  void add_point(const cost::Subject& subject, const Json& object) {
    const Seconds median = time_at(object, "us");
    const Seconds low = time_at(object, "low");
    const Seconds high = time_at(object, "high");
    const auto count = object.value("count", Json(0));
    imported_.points.push_back(
        {subject,
         {.shape = subject.shape,
          .median = median,
          .low = low.value > 0 ? low : median,
          .high = high.value > 0 ? high : median,
          .cold = time_at(object, "cold_us"),
          .count = count.is_number_integer() ? std::max(0, count.get<int>()) : 0}});
  }

  sim::Problems& problems_;
  ImportedPoints imported_{.format = "measurements of tsim-measure"};
  Clocks clocks_;
  Overlaps overlaps_;
  std::size_t skipped_ = 0;
};

}  // namespace

ImportedPoints import_journal(std::string_view text, sim::Problems& problems) {
  const std::vector<std::string_view> lines = lines_of(text);
  JournalReader reader(problems);
  for (std::size_t i = 0; i < lines.size(); ++i) { reader.read(lines[i], i + 1); }
  return std::move(reader).finish();
}

}  // namespace tsim::calibrate
