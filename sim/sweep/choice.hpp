// The settings of a strategy that a search changes without reading a document again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/scenario.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {

/// In the order in which a search nests them, outermost first: what changes a block's costs, then
/// what changes a stage's, then the rest.
enum class Field : std::uint8_t {
  flash_attention,
  overlap_tensor,
  scatter_gather,
  overlap_gradients,
  sequence_parallel,
  recompute,  // as Recompute
  micro_batch,
  tensor,
  context,
  pipeline,
  chunks,
  data,
  zero,
  overlap_parameters,
  schedule,  // index in schedules()
  global_batch
};
inline constexpr std::size_t kFields = 16;
inline constexpr Field kLastBlockField = Field::context;  // costs of a block depend on it and those
                                                          // before it

struct FieldEntry {
  Field field;
  std::string_view pointer;  // in a scenario
  std::string_view name;     // in conditions and tables: the pointer's last word
};
const std::array<FieldEntry, kFields>& fields();
std::optional<Field> field_at(std::string_view pointer);

/// A value of each field.
struct Choice {
  std::array<std::int64_t, kFields> values{};
  std::int64_t& operator[](Field field) { return values[static_cast<std::size_t>(field)]; }
  std::int64_t operator[](Field field) const { return values[static_cast<std::size_t>(field)]; }
  bool operator==(const Choice&) const = default;
};

/// What `scenario` chooses. Its schedule is one by name.
Choice choice_of(const Scenario& scenario);
/// The scenario with these settings; its vocabulary padded for them.
void apply(const Choice& choice, Scenario& scenario);

/// Ranks that the degrees make.
std::int64_t ranks(const Choice& choice);
const strategies::Schedule& schedule_of(const Choice& choice);

}  // namespace tsim::sim
