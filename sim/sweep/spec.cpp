#include "sim/sweep/spec.hpp"

#include <array>

namespace tsim::sim {

std::string_view name_of(Search search) {
  switch (search) {
    case Search::grid: return "grid";
    case Search::random: return "random";
    case Search::pareto: return "pareto";
    case Search::best: return "best";
  }
  return "best";
}

std::string_view name_of(Goal goal) {
  switch (goal) {
    case Goal::step_time: return "step_time";
    case Goal::tokens_per_second: return "tokens_per_second";
    case Goal::tokens_per_second_per_device: return "tokens_per_second_per_device";
    case Goal::cost_per_million_tokens: return "cost_per_million_tokens";
    case Goal::energy_per_token: return "energy_per_token";
    case Goal::memory: return "memory";
    case Goal::days: return "days";
  }
  return "step_time";
}

bool is_rate(Goal goal) {
  return goal == Goal::tokens_per_second || goal == Goal::tokens_per_second_per_device;
}

std::string_view name_of(Known known) {
  static constexpr std::array<std::string_view, kKnown> kNames{
      "devices", "nodes",    "devices_per_node", "layers",  "heads",
      "hidden",  "sequence", "micro_batches",    "replicas"};
  return kNames[static_cast<std::size_t>(known)];
}

std::vector<std::string> slot_names(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const FieldEntry& f : fields()) { names.emplace_back(f.name); }
  for (std::size_t k = 0; k < kKnown; ++k) { names.emplace_back(name_of(static_cast<Known>(k))); }
  for (const Axis& d : axes) {
    if (!d.field) { names.push_back(d.name); }
  }
  return names;
}

}  // namespace tsim::sim
