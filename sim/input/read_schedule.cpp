#include "sim/input/read_schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include "sim/input/data_files.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/check_order.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using strategies::Action;
using strategies::Phase;
using strategies::Placement;
using strategies::StageOrder;
using strategies::Strategy;

constexpr std::string_view kDepthFirst =
    "depth_first";  // interleaved, as arXiv:2211.05953 calls it
constexpr int kMostMicroBatches = 100'000;
constexpr int kMostChunks = 1000;
constexpr std::array kPlacements{Placement::loop, Placement::wave, Placement::bidirectional};

/// A whole number from 0 to `most` at the start of `text`, which loses it.
std::optional<int> take_number(std::string_view& text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() || number < 0 || number > most) { return {}; }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "F3", "B3.1", "W3"; a B is taken as one with a W.
std::optional<Action> parse_action(std::string_view text) {
  constexpr std::array<std::pair<char, Phase>, 3> kLetters{
      {{'F', Phase::forward}, {'B', Phase::input_grad}, {'W', Phase::weight_grad}}};
  if (text.empty()) { return {}; }
  const auto* const letter = std::find_if(kLetters.begin(), kLetters.end(),
                                          [&](const auto& l) { return l.first == text.front(); });
  if (letter == kLetters.end()) { return {}; }
  text.remove_prefix(1);
  Action action{.phase = letter->second};
  const auto micro_batch = take_number(text, kMostMicroBatches);
  if (!micro_batch) { return {}; }
  action.micro_batch = *micro_batch;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const auto chunk = take_number(text, kMostChunks);
    if (!chunk) { return {}; }
    action.chunk = *chunk;
  }
  if (!text.empty()) { return {}; }
  return action;
}

/// One word: an action, or two joined by '&'.
bool add_word(const std::string& word, StageOrder& order) {
  const std::size_t both = word.find('&');
  const auto first = parse_action(std::string_view(word).substr(0, both));
  if (!first) { return false; }
  order.push_back(*first);
  if (both == std::string::npos) { return true; }
  const auto second = parse_action(std::string_view(word).substr(both + 1));
  if (!second) { return false; }
  order.back().paired = true;
  order.push_back(*second);
  return true;
}

/// A B without a W of its own is the whole backward.
void join_backwards(StageOrder& order) {
  std::set<std::pair<int, int>> apart;
  for (const Action& a : order) {
    if (a.phase == Phase::weight_grad) { apart.insert({a.micro_batch, a.chunk}); }
  }
  for (Action& a : order) {
    const bool whole = a.phase == Phase::input_grad && !apart.contains({a.micro_batch, a.chunk});
    if (whole) { a.phase = Phase::backward; }
  }
}

void read_words(const Place& place, StageOrder& order) {
  std::istringstream words(read_text(place));
  for (std::string word; words >> word;) {
    if (add_word(word, order)) { continue; }
    place.fail(in_quotes(word), "F, B or W of a micro-batch, such as F0, B3.1 (of chunk 1), F3&B2");
    return;
  }
}

StageOrder read_order(const Place& place) {
  StageOrder order;
  if (place.present() && place.value->is_array()) {
    for (const Place& entry : read_entries(place)) { read_words(entry, order); }
  } else {
    read_words(place, order);
  }
  join_backwards(order);
  return order;
}

strategies::PipelineShape shape_of_own(const Strategy& s) {
  return {.stages = static_cast<int>(s.own_order.size()),
          .micro_batches = own_micro_batches(s),
          .chunks = s.chunks,
          .placement = s.own_placement};
}

int chunks_named(const strategies::PipelineOrder& order) {
  int chunks = 1;
  for (const StageOrder& stage : order) {
    for (const Action& a : stage) { chunks = std::max(chunks, a.chunk + 1); }
  }
  return chunks;
}

/// An order that cannot be run to its end is told at `place`.
void check_own(const Place& place, Strategy& s) {
  s.chunks = chunks_named(s.own_order);
  if (s.own_placement == Placement::bidirectional) {
    if (s.chunks > 2) {
      place.fail(std::to_string(s.chunks) + " chunks", "chunks 0 and 1, one for each direction");
      return;
    }
    s.chunks = 2;
  }
  const strategies::PipelineShape shape = shape_of_own(s);
  if (const auto fault = find_incomplete(shape, s.own_order)) {
    place.fail(*fault, "each forward, backward and weight gradient once, in this order");
  } else if (const auto cycle = find_deadlock(shape, s.own_order, false)) {
    place.fail("a deadlock: " + *cycle, "an order that runs to its end");
  }
}

void read_own(const Place& place, Strategy& s) {
  Reader in(place);
  const std::size_t before = in.source().problems->errors().size();
  s.schedule = read_text(in.take("name"), s.schedule);
  if (strategies::schedule_named(s.schedule) != nullptr) {
    place.fail("the name " + in_quotes(s.schedule), "a name that no schedule of tsim has");
  }
  s.own_placement = read_choice<Placement>(in.take("placement"), kPlacements, Placement::loop);
  const Place stages = in.take("stages");
  for (const Place& stage : read_entries(stages)) { s.own_order.push_back(read_order(stage)); }
  in.finish();
  if (in.source().problems->errors().size() != before) { return; }
  if (s.own_order.empty()) {
    stages.fail("an empty list", "the order of each stage");
    return;
  }
  check_own(stages, s);
}

void read_own_file(const fs::path& path, Strategy& s, Problems& problems) {
  const std::optional<Json> document = read_json_file(path, problems);
  if (!document) { return; }
  const Source source{.problems = &problems, .file = path.string()};
  s.schedule = path.stem().string();
  read_own(Place{&*document, "", &source}, s);
}

}  // namespace

int own_micro_batches(const Strategy& strategy) {
  int most = -1;
  for (const StageOrder& stage : strategy.own_order) {
    for (const Action& a : stage) { most = std::max(most, a.micro_batch); }
  }
  return most + 1;
}

void read_schedule(const Place& place, const fs::path& folder, Strategy& s) {
  if (!place.present()) { return; }
  if (place.value->is_object()) {
    s.schedule = "own";
    read_own(place, s);
    return;
  }
  std::vector<std::string_view> names = strategies::schedule_names();
  names.push_back(kDepthFirst);
  const std::string written = place.value->is_string() ? read_text(place) : std::string();
  if (looks_like_path(written)) {
    if (const auto path = find_path(written, folder)) {
      read_own_file(*path, s, *place.source->problems);
    } else {
      place.fail(in_quotes(written), "the path of a schedule", "no such file");
    }
    return;
  }
  const auto usual = std::find(names.begin(), names.end(), s.schedule);
  const auto index = read_choice(place, names, static_cast<std::size_t>(usual - names.begin()));
  s.schedule = names[index] == kDepthFirst ? "interleaved" : names[index];
}

}  // namespace tsim::sim
