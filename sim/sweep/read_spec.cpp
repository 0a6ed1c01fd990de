#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "sim/input/json_reader.hpp"
#include "sim/input/suggest.hpp"
#include "sim/sweep/spec.hpp"

namespace tsim::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostValues = 1'000'000;  // of one dimension
constexpr std::array kSearches{Search::grid, Search::random, Search::pareto, Search::best};
constexpr std::array kGoalList{Goal::step_time,
                               Goal::tokens_per_second,
                               Goal::tokens_per_second_per_device,
                               Goal::cost_per_million_tokens,
                               Goal::energy_per_token,
                               Goal::memory,
                               Goal::days};
constexpr std::array<std::string_view, 3> kRecomputes{"none", "selective", "full"};

/// A number with what follows it: "400 Gb/s" is 400 and " Gb/s".
struct Amount {
  double number = 0;
  std::string unit;
  bool text = false;
};

std::optional<Amount> amount_of(const Json& value) {
  if (value.is_number()) { return Amount{value.get<double>(), {}, false}; }
  if (!value.is_string()) { return std::nullopt; }
  const auto& text = value.get_ref<const std::string&>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) { return std::nullopt; }
  return Amount{number, end, true};
}

Json json_of(double number, const Amount& like) {
  const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
  const Json value = whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
  return like.text ? Json(value.dump() + like.unit) : value;
}

/// {"from": 1, "to": 16, "factor": 2}, or with "step".
std::vector<Json> read_range(const Place& place) {
  Reader in(place);
  const Place from_place = in.take("from");
  const Place to_place = in.take("to");
  const Place step_place = in.take("step");
  const double factor = read_real(in.take("factor"), {.least = 1, .most = 1e6, .above = true}, 0.0);
  in.finish();
  const auto amount = [](const Place& p) {
    auto a = p.present() ? amount_of(*p.value) : std::nullopt;
    if (!a) { p.fail(p.found(), "a number, or a quantity such as \"200 Gb/s\""); }
    return a;
  };
  const auto from = amount(from_place);
  const auto to = amount(to_place);
  const auto step = step_place.present() ? amount(step_place) : Amount{from ? 1.0 : 0.0, {}, false};
  if (!from || !to || !step) { return {}; }
  if (from->unit != to->unit || (step->text && step->unit != from->unit)) {
    place.fail("two units", "one unit in a range");
    return {};
  }
  const bool growing = factor > 1 ? from->number > 0 : step->number > 0;
  if (to->number < from->number || !growing || (factor > 1 && step_place.present())) {
    place.fail("a range that does not lead from " + from_place.found() + " to " + to_place.found(),
               "from <= to, and either a step above 0 or a factor above 1");
    return {};
  }
  std::vector<Json> values;
  double value = from->number;
  for (std::int64_t i = 0; value <= to->number * (1 + 1e-12); ++i) {
    if (i == kMostValues) {
      place.fail("more than " + std::to_string(kMostValues) + " values", "fewer");
      return {};
    }
    values.push_back(json_of(value, *from));
    value = factor > 1 ? value * factor : from->number + static_cast<double>(i + 1) * step->number;
  }
  return values;
}

/// What a value of `field` is as a number; none when it is another thing than the field knows.
std::optional<std::int64_t> number_of(Field field, const Json& value) {
  switch (field) {
    case Field::schedule:
      if (value.is_string()) {
        const auto* found = strategies::schedule_named(value.get_ref<const std::string&>());
        if (found != nullptr) { return found - strategies::schedules().data(); }
      }
      return std::nullopt;
    case Field::recompute: {
      if (!value.is_string()) { return std::nullopt; }
      const auto* const at = std::ranges::find(kRecomputes, value.get_ref<const std::string&>());
      return at == kRecomputes.end() ? std::nullopt : std::optional(at - kRecomputes.begin());
    }
    case Field::flash_attention:
    case Field::overlap_tensor:
    case Field::scatter_gather:
    case Field::overlap_gradients:
    case Field::overlap_parameters:
    case Field::sequence_parallel:
      return value.is_boolean() ? std::optional<std::int64_t>(value.get<bool>() ? 1 : 0)
                                : std::nullopt;
    case Field::zero:
      return value.is_number_integer() && value >= 0 && value <= 3
                 ? std::optional(value.get<std::int64_t>())
                 : std::nullopt;
    default: break;
  }
  return value.is_number_integer() && value >= 1 && value <= 1'000'000
             ? std::optional(value.get<std::int64_t>())
             : std::nullopt;
}

std::string last_word(const std::string& pointer, std::size_t words) {
  std::size_t at = pointer.size();
  for (; words > 0 && at != std::string::npos && at > 0; --words) {
    at = pointer.rfind('/', at - 1);
  }
  std::string name = pointer.substr(at == std::string::npos ? 0 : at + 1);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// Values are fields' when all of them are; else the document is read for each.
void settle_field(const std::vector<Place>& places, Axis& d) {
  d.field = field_at(d.pointer);
  if (!d.field) { return; }
  for (const Json& value : d.values) {
    const auto number = number_of(*d.field, value);
    if (!number) {
      const bool object = value.is_object() || value.is_array();
      const bool other =
          *d.field == Field::recompute || *d.field == Field::zero || *d.field == Field::schedule;
      if (!(other && (object || value.is_string())) && !places.empty()) {
        const Place& place = places[d.numbers.size()];
        place.fail(place.found(), "a value of " + d.pointer);
      }
      d.field.reset();
      d.numbers.clear();
      return;
    }
    d.numbers.push_back(*number);
  }
}

class SpecReader {
 public:
  SpecReader(const Json& document, const fs::path& file) : file_(file), source_{&problems_} {
    spec_.document = document;
  }

  SweepSpec run() {
    Reader in(Place{&spec_.document, "", &source_});
    read_base(in.take("scenario"));
    read_vary(in.take("vary"));
    read_where(in.take("where"));
    read_limits(in.take("limits"));
    spec_.search = read_choice<Search>(in.take("search"), kSearches, Search::best);
    read_goals(in.take("objective"));
    spec_.top = read_count(in.take("top"), {1, 1'000'000}, spec_.top);
    spec_.apart = read_flag(in.take("apart"), spec_.apart);
    spec_.events = read_count(in.take("events"), {0, 1'000'000},
                              std::min<std::int64_t>(spec_.top, spec_.events));
    spec_.samples = read_count(in.take("samples"), {1, 100'000'000}, spec_.samples);
    spec_.seed = read_count(in.take("seed"), {0, kMostCounted}, spec_.seed);
    spec_.price = read_real(in.take("price"), {.least = 0, .most = 1e6}, 0.0);
    spec_.power = read_real(in.take("power"), {.least = 0, .most = 1e6}, 0.0);
    spec_.tokens = read_real(in.take("tokens"), {.least = 0, .most = 1e18}, 0.0);
    in.finish();
    check_goals();
    if (!problems_.empty()) { throw InputErrors(file_.string(), problems_.errors()); }
    return std::move(spec_);
  }

 private:
  void read_base(const Place& place) {
    if (place.present() && place.value->is_object()) {
      spec_.scenario = *place.value;
      spec_.file = file_;
      return;
    }
    const std::string name = read_text(place);
    if (name.empty()) { return; }
    spec_.file = fs::path(name).is_absolute() ? fs::path(name) : file_.parent_path() / name;
    std::string why;
    const auto text = file_text(spec_.file, why);
    if (!text) {
      place.fail(in_quotes(name), "a scenario file", why);
      return;
    }
    if (auto document = parse_json(*text, spec_.file.string(), problems_)) {
      spec_.scenario = std::move(*document);
      if (spec_.scenario.is_object()) { spec_.scenario.erase("compare"); }
    }
  }

  void read_vary(const Place& place) {
    if (!place.present() || !place.value->is_object() || place.value->empty()) {
      place.fail(place.present() && place.value->is_object() ? "an empty object" : place.found(),
                 "an object such as {\"/strategy/tensor\": [1, 2, 4, 8]}");
      return;
    }
    for (const auto& [pointer, value] : place.value->items()) {
      Place at{&value, place.path + (pointer.starts_with('/') ? "" : "/") + pointer, &source_};
      if (!pointer.starts_with('/')) {
        at.fail(in_quotes(pointer) + " as a key", "a JSON Pointer such as \"/strategy/tensor\"");
        continue;
      }
      read_axis(pointer, at);
    }
    settle_names();
    std::ranges::stable_sort(
        spec_.axes, {}, [](const Axis& d) { return d.field ? static_cast<int>(*d.field) : -1; });
    read_formulas();
  }

  void read_axis(const std::string& pointer, const Place& place) {
    Axis d{.pointer = pointer, .name = {}, .field = {}, .values = {}, .numbers = {}, .formula = {}};
    std::vector<Place> places;
    if (place.value->is_string()) {
      formulas_.emplace_back(pointer, place);
      d.field = field_at(pointer);
      d.values.clear();
      d.formula = Condition{};
      if (!d.field || *d.field == Field::schedule || *d.field == Field::recompute) {
        place.fail(place.found(), "a list or a range: only degrees and batches follow from others");
      }
    } else if (place.value->is_object()) {
      d.values = read_range(place);
      places.assign(d.values.size(), place);
      settle_field(places, d);
    } else {
      places = read_entries(place);
      for (const Place& entry : places) { d.values.push_back(*entry.value); }
      if (places.empty() && place.value->is_array()) {
        place.fail("an empty list", "one value at least");
      }
      settle_field(places, d);
    }
    spec_.axes.push_back(std::move(d));
  }

  void settle_names() {
    for (Axis& d : spec_.axes) { d.name = last_word(d.pointer, 1); }
    for (Axis& d : spec_.axes) {
      const auto same = std::ranges::count(spec_.axes, d.name, &Axis::name);
      const bool taken = !d.field && std::ranges::any_of(fields(), [&](const FieldEntry& f) {
        return f.name == d.name;
      });
      if ((same > 1 && !d.field) || taken) { d.name = last_word(d.pointer, 2); }
    }
  }

  Condition::Names names() const {
    return {slot_names(spec_.axes), [](std::string_view text) -> std::int64_t {
              const auto* schedule = strategies::schedule_named(text);
              if (schedule != nullptr) { return schedule - strategies::schedules().data(); }
              const auto* const at = std::ranges::find(kRecomputes, text);
              return at == kRecomputes.end() ? -1 : at - kRecomputes.begin();
            }};
  }

  void read_formulas() {
    for (const auto& [pointer, place] : formulas_) {
      std::string text = place.value->get<std::string>();
      if (text == "rest") {
        text = "devices / (";
        const char* between = "";
        for (const char* degree : {"tensor", "context", "pipeline", "data"}) {
          if (!pointer.ends_with(degree)) {
            text += between + std::string(degree);
            between = " * ";
          }
        }
        text += ")";
      }
      const auto at = std::ranges::find(spec_.axes, pointer, &Axis::pointer);
      at->formula = Condition::read(text, names(), place.path, problems_);
    }
  }

  void read_where(const Place& place) {
    if (!place.present()) { return; }
    if (place.value->is_string()) {
      spec_.where.push_back(Condition::read(read_text(place), names(), place.path, problems_));
      return;
    }
    for (const Place& entry : read_entries(place)) {
      spec_.where.push_back(Condition::read(read_text(entry), names(), entry.path, problems_));
    }
  }

  void read_limits(const Place& place) {
    if (!place.present()) { return; }
    Reader in(place);
    spec_.memory_margin = read_real(in.take("memory_margin"), {.least = 0, .most = 0.99}, 0.0);
    spec_.most_devices = read_count(in.take("devices"), {}, 0);
    spec_.most_step = read_quantity(in.take("step_time"), Dimension::time, 0.0);
    in.finish();
  }

  void read_goals(const Place& place) {
    if (!place.present()) { return; }
    if (place.value->is_string()) {
      spec_.goals = {read_choice<Goal>(place, kGoalList)};
      return;
    }
    spec_.goals.clear();
    for (const Place& entry : read_entries(place)) {
      spec_.goals.push_back(read_choice<Goal>(entry, kGoalList));
    }
    if (spec_.goals.empty()) { spec_.goals = {Goal::step_time}; }
  }

  void check_goals() {
    const auto need = [&](Goal goal, double value, const char* key, const char* what) {
      if (value > 0 || std::ranges::find(spec_.goals, goal) == spec_.goals.end()) { return; }
      problems_.add({.path = "/" + std::string(key),
                     .found = "nothing",
                     .expected = std::string(what) + " for the objective \"" +
                                 std::string(name_of(goal)) + "\"",
                     .hint = {},
                     .file = {}});
    };
    need(Goal::cost_per_million_tokens, spec_.price, "price", "the price of a device for an hour");
    need(Goal::energy_per_token, spec_.power, "power", "the watts of a device");
    need(Goal::days, spec_.tokens, "tokens", "the tokens to train on");
    if (spec_.search == Search::pareto && spec_.goals.size() < 2) {
      problems_.add({.path = "/objective",
                     .found = std::to_string(spec_.goals.size()),
                     .expected = "two objectives at least with search \"pareto\"",
                     .hint = R"(["step_time", "memory"])",
                     .file = {}});
    }
  }

  SweepSpec spec_;
  fs::path file_;
  Problems problems_;
  Source source_;
  std::vector<std::pair<std::string, Place>> formulas_;
};

}  // namespace

SweepSpec read_spec(const Json& document, const fs::path& file) {
  return SpecReader(document, file).run();
}

SweepSpec read_spec_file(const fs::path& path) {
  std::string why;
  const auto text = file_text(path, why);
  if (!text) { throw InputErrors(path.string(), {{.path = {}, .found = why}}); }
  Problems problems;
  const auto document = parse_json(*text, "", problems);
  if (!document) { throw InputErrors(path.string(), problems.errors()); }
  return read_spec(*document, path);
}

}  // namespace tsim::sim
