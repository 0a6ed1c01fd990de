// What a search is asked for: which values vary, under which conditions, what is best.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/input/read_document.hpp"
#include "sim/sweep/choice.hpp"
#include "sim/sweep/condition.hpp"

namespace tsim::sim {

/// A place of the scenario and the values that it takes.
struct Axis {
  std::string pointer;  // JSON Pointer
  std::string name;     // its last word, or two where that is another dimension's
  std::optional<Field> field;
  std::vector<Json> values;           // none when they follow from others
  std::vector<std::int64_t> numbers;  // the values of a field
  std::optional<Condition> formula;   // instead of values: "devices / (tensor * pipeline)"
  std::size_t count() const { return formula ? 1 : values.size(); }
};

enum class Search : std::uint8_t { grid, random, pareto, best };
std::string_view name_of(Search search);

/// What is to be least, or most.
enum class Goal : std::uint8_t {
  step_time,
  tokens_per_second,
  tokens_per_second_per_device,
  cost_per_million_tokens,
  energy_per_token,
  memory,
  days
};
inline constexpr std::size_t kGoals = 7;
std::string_view name_of(Goal goal);
/// Whether more of it is better.
bool is_rate(Goal goal);

/// Slots of conditions: the fields, then these, then the other axes that are numbers.
enum class Known : std::uint8_t {
  devices,
  nodes,
  devices_per_node,
  layers,
  heads,
  hidden,
  sequence,
  micro_batches,
  replicas
};
inline constexpr std::size_t kKnown = 9;
std::string_view name_of(Known known);

struct SweepSpec {
  Json scenario;               // the document that everything varies
  std::filesystem::path file;  // names the scenario in messages; others are beside it
  std::vector<Axis> axes;      // those that are no fields first, then fields in their order
  std::vector<Condition> where;
  Search search = Search::best;
  std::vector<Goal> goals{Goal::step_time};
  double memory_margin = 0;       // share of a device's memory to be left free
  std::int64_t most_devices = 0;  // 0: any number
  double most_step = 0;           // s; 0: any
  std::int64_t top = 10;          // answers
  bool apart = false;             // answers differ in the degrees of parallelism
  std::int64_t events = 10;       // of them, simulated
  std::int64_t samples = 10'000;  // of a random search
  std::int64_t seed = 1;
  double price = 0;   // of a device for an hour
  double power = 0;   // W of a device
  double tokens = 0;  // to train on
  Json document;      // all of this, as it was asked for
};

/// Reads a spec; names of files in it are relative to `file`. Throws InputErrors.
SweepSpec read_spec(const Json& document, const std::filesystem::path& file);
SweepSpec read_spec_file(const std::filesystem::path& path);

/// Names of the slots of `spec`'s conditions.
std::vector<std::string> slot_names(const std::vector<Axis>& axes);

}  // namespace tsim::sim
