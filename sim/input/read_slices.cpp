#include "sim/input/read_slices.hpp"

#include <numeric>

#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::int64_t kMostSlices = 1024;

void check_lengths(const Scenario& s, Problems& problems) {
  const std::vector<std::int64_t>& tokens = s.strategy.slice_tokens;
  const std::int64_t sequence = tokens_of(s.model, s.workload);
  const std::string of_sample = std::to_string(sequence) + " (tokens of a sample)";
  const auto fail = [&](std::string found, std::string expected) {
    problems.add({.path = "/strategy/token_slices",
                  .found = std::move(found),
                  .expected = std::move(expected)});
  };
  const std::int64_t sum = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  if (!tokens.empty() && sum != sequence) {
    fail("slices that sum to " + std::to_string(sum), of_sample);
  }
  const std::int64_t step = s.strategy.sequence_parallel ? s.strategy.tensor : 1;
  if (s.strategy.slices > sequence / step) {
    fail(std::to_string(s.strategy.slices) + " slices",
         "at most " + std::to_string(sequence / step));
  }
  for (const std::int64_t length : tokens) {
    if (length % step == 0) { continue; }
    fail("a slice of " + std::to_string(length),
         "multiples of tensor = " + std::to_string(step) + " with sequence_parallel");
    break;
  }
}

}  // namespace

void read_slices(const Place& place, strategies::Strategy& s) {
  if (!place.present()) { return; }
  if (s.schedule != "terapipe") {
    place.fail("slices", "nothing with schedule \"" + s.schedule + "\"", "schedule = \"terapipe\"");
    return;
  }
  const std::string expected = "\"auto\", a count or a list with the tokens of each slice";
  if (place.value->is_array()) {
    for (const Place& entry : read_entries(place)) {
      s.slice_tokens.push_back(read_count(entry, {.least = 1, .most = 10'000'000}));
    }
    if (s.slice_tokens.empty()) { place.fail("an empty list", expected); }
  } else if (place.value->is_number()) {
    s.slices = static_cast<int>(read_count(place, {.least = 1, .most = kMostSlices}));
  } else if (!place.value->is_string() || read_text(place) != "auto") {
    place.fail(place.found(), expected);
  }
}

void check_slices(const Scenario& scenario, Problems& problems) {
  const strategies::Strategy& s = scenario.strategy;
  if (s.schedule != "terapipe" || !problems.clean({"/model", "/workload", "/strategy"})) { return; }
  const models::ModelConfig& m = scenario.model;
  const auto fail = [&](std::string path, std::string found, std::string expected) {
    problems.add({.path = std::move(path),
                  .found = std::move(found),
                  .expected = std::move(expected) + " with schedule \"terapipe\""});
  };
  if (m.family != models::Family::decoder || !m.causal || m.query_layer) {
    fail("/model", "a model whose tokens look ahead", "a decoder with a causal mask");
  }
  if (s.context > 1) { fail("/strategy/context", std::to_string(s.context), "1"); }
  if (s.zero.stage > 1) { fail("/strategy/zero", std::to_string(s.zero.stage), "0 or 1"); }
  check_lengths(scenario, problems);
}

}  // namespace tsim::sim
