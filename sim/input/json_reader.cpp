#include "sim/input/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr double kExactLimit = 9007199254740992.0;  // 2^53: whole doubles are exact below

/// The whole number at a place; none when it is something else or does not fit.
std::optional<std::int64_t> whole(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto n = value.get<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) { return {}; }
    return static_cast<std::int64_t>(n);
  }
  if (value.is_number_integer()) { return value.get<std::int64_t>(); }
  if (value.is_number_float()) {
    const double n = value.get<double>();
    if (std::abs(n) < kExactLimit && n == std::floor(n)) { return static_cast<std::int64_t>(n); }
  }
  return {};
}

std::string expected_count(Range range, bool too_large) {
  if (range.least == 0 && range.most == 1) { return "0 or 1"; }
  const std::string least = std::to_string(range.least);
  if (too_large) { return "a whole number from " + least + " to " + std::to_string(range.most); }
  return "a whole number >= " + least;
}

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// Whether the place holds nothing; then it may be a problem.
bool missing(const Place& place, bool required, const std::string& expected) {
  if (place.present()) { return false; }
  if (required) { place.fail("nothing", expected); }
  return true;
}

/// A text that holds a whole number only lacks the sense to lose its quotes.
std::string quotes_hint(const Json& value) {
  if (!value.is_string()) { return {}; }
  const auto& content = value.get_ref<const std::string&>();
  const bool digits =
      !content.empty() && content.find_first_not_of("0123456789") == std::string::npos;
  return digits ? "remove the quotes" : "";
}

std::string unit_examples(const std::string& number, Dimension dimension) {
  switch (dimension) {
    case Dimension::size: return "\"" + number + " GiB\" or \"" + number + " GB\"";
    case Dimension::rate: return "\"" + number + " GB/s\" or \"" + number + " Gb/s\"";
    case Dimension::time: return "\"" + number + " us\" or \"" + number + " ms\"";
    case Dimension::compute: return "\"" + number + " TFLOP/s\"";
  }
  return {};
}

}  // namespace

void Place::fail(std::string what, std::string expected, std::string hint) const {
  if (muted) { return; }
  source->problems->add({.path = path,
                         .found = std::move(what),
                         .expected = std::move(expected),
                         .hint = std::move(hint),
                         .file = source->file});
}

std::string Place::found() const {
  if (value == nullptr) { return "nothing"; }
  if (value->is_string()) { return in_quotes(value->get_ref<const std::string&>()) + " (text)"; }
  if (value->is_array()) { return "a list"; }
  if (value->is_object()) { return "an object"; }
  return value->dump();
}

std::int64_t read_count(const Place& place, Range range, std::optional<std::int64_t> fallback) {
  const std::int64_t otherwise = fallback.value_or(range.least);
  if (missing(place, !fallback, expected_count(range, false))) { return otherwise; }
  const std::optional<std::int64_t> n = whole(*place.value);
  const bool too_large = (n && *n > range.most) ||
                         (!n && place.value->is_number() && place.value->get<double>() > 1e15);
  if (n && *n >= range.least && !too_large) { return *n; }
  place.fail(place.found(), expected_count(range, too_large), quotes_hint(*place.value));
  return otherwise;
}

bool read_flag(const Place& place, std::optional<bool> fallback) {
  if (missing(place, !fallback, "true or false")) { return fallback.value_or(false); }
  if (place.value->is_boolean()) { return place.value->get<bool>(); }
  const std::string found = place.found();
  const bool quoted_flag = found == "\"true\" (text)" || found == "\"false\" (text)";
  place.fail(found, "true or false", quoted_flag ? "remove the quotes" : "");
  return fallback.value_or(false);
}

std::string read_text(const Place& place, const std::optional<std::string>& fallback) {
  if (missing(place, !fallback, "a text")) { return fallback.value_or(""); }
  if (place.value->is_string() && !place.value->get_ref<const std::string&>().empty()) {
    return place.value->get<std::string>();
  }
  place.fail(place.value->is_string() ? "an empty text" : place.found(), "a text");
  return fallback.value_or("");
}

double read_real(const Place& place, RealRange range, std::optional<double> fallback) {
  const std::string expected = std::string("a number ") + (range.above ? "above " : "from ") +
                               number_text(range.least) + (range.above ? ", at most " : " to ") +
                               number_text(range.most);
  const double otherwise = fallback.value_or(range.most);
  if (missing(place, !fallback, expected)) { return otherwise; }
  if (place.value->is_number()) {
    const auto n = place.value->get<double>();
    if (n <= range.most && (n > range.least || (n == range.least && !range.above))) { return n; }
  }
  place.fail(place.found(), expected, quotes_hint(*place.value));
  return otherwise;
}

double read_quantity(const Place& place, Dimension dimension, std::optional<double> fallback,
                     bool zero) {
  const std::string expected = expected_quantity(dimension);
  const double otherwise = fallback.value_or(1.0);
  if (missing(place, !fallback, expected)) { return otherwise; }
  if (place.value->is_number()) {
    place.fail(place.value->dump() + " (a number without a unit)", expected,
               unit_examples(place.value->dump(), dimension));
    return otherwise;
  }
  if (!place.value->is_string()) {
    place.fail(place.found(), expected);
    return otherwise;
  }
  const auto& written = place.value->get_ref<const std::string&>();
  const ParsedQuantity parsed = parse_quantity(written, dimension);
  if (!parsed.value) {
    place.fail(written.empty() ? "an empty text" : in_quotes(written), expected, parsed.hint);
  } else if (*parsed.value < 0 || (*parsed.value == 0 && !zero)) {
    place.fail(in_quotes(written), zero ? "zero or more" : "more than zero");
  } else if (*parsed.value > largest(dimension)) {
    place.fail(in_quotes(written), "something that exists", "check the unit");
  } else {
    return *parsed.value;
  }
  return otherwise;
}

std::size_t read_choice(const Place& place, std::span<const std::string_view> names,
                        std::optional<std::size_t> fallback) {
  const std::string expected = "one of " + join(names);
  if (missing(place, !fallback, expected)) { return fallback.value_or(0); }
  if (place.value->is_string()) {
    const auto& written = place.value->get_ref<const std::string&>();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == written) { return i; }
    }
    place.fail(written.empty() ? "an empty text" : in_quotes(written), expected,
               did_you_mean(written, names));
  } else {
    place.fail(place.found(), expected);
  }
  return fallback.value_or(0);
}

std::vector<Place> read_entries(const Place& place) {
  std::vector<Place> places;
  if (!place.present()) { return places; }
  if (!place.value->is_array()) {
    place.fail(place.found(), "a list");
    return places;
  }
  for (std::size_t i = 0; i < place.value->size(); ++i) {
    places.push_back({&(*place.value)[i], place.path + "/" + std::to_string(i), place.source});
  }
  return places;
}

Reader::Reader(const Place& place) : place_(place) {
  if (place.present() && place.value->is_object()) {
    object_ = place.value;
  } else if (place.present()) {
    place.fail(place.found(), "an object");
  }
}

Place Reader::take(std::string_view key) {
  known_.emplace_back(key);
  Place place{nullptr, place_.path + "/" + std::string(key), place_.source,
              place_.muted || (place_.present() && object_ == nullptr)};
  if (object_ != nullptr) {
    const auto found = object_->find(key);
    const bool absent =
        found == object_->end() || (found->is_null() && place_.source->null_is_absent);
    if (!absent) { place.value = &*found; }
  }
  return place;
}

void Reader::finish() const {
  if (object_ == nullptr) { return; }
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) { continue; }
    Json::json_pointer pointer(place_.path);
    pointer.push_back(key);
    std::string hint = did_you_mean(key, known);
    if (hint.empty()) { hint = "keys here are " + join(known); }
    place_.source->problems->add({.path = pointer.to_string(),
                                  .found = "unknown key",
                                  .expected = {},
                                  .hint = hint,
                                  .file = place_.source->file});
  }
}

}  // namespace tsim::sim
