#include "sim/input/read_stage_order.hpp"

#include <algorithm>
#include <array>

#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/stage_order.hpp"

namespace tsim::sim {
namespace {

void read_places(const Place& place, strategies::Strategy& s) {
  std::vector<bool> taken(static_cast<std::size_t>(s.pipeline), false);
  for (const Place& entry : read_entries(place)) {
    const std::int64_t at = read_count(entry, {.least = 0, .most = s.pipeline - 1});
    if (taken[static_cast<std::size_t>(at)]) {
      entry.fail("place " + std::to_string(at) + " again", "every place once");
    }
    taken[static_cast<std::size_t>(at)] = true;
    s.stage_places.push_back(static_cast<int>(at));
  }
  if (static_cast<int>(s.stage_places.size()) != s.pipeline) {
    place.fail(std::to_string(s.stage_places.size()) + " places",
               std::to_string(s.pipeline) + " (/strategy/pipeline), one for each stage");
  }
}

}  // namespace

StageOrderInput read_stage_order(const Place& place, strategies::Strategy& strategy) {
  if (!place.present()) { return {}; }
  if (place.value->is_array()) {
    read_places(place, strategy);
    return {};
  }
  static constexpr std::array<std::string_view, 2> kNames{"given", "topology"};
  if (!place.value->is_string()) {
    place.fail(place.found(), R"("given", "topology" or a list with the place of each stage)");
    return {};
  }
  return {.by_topology = read_choice(place, kNames) == 1};
}

void settle_stage_order(const StageOrderInput& input, Scenario& s) {
  if (!input.by_topology) { return; }
  const std::int64_t elements =
      s.workload.micro_batch * tokens_of(s.model, s.workload) * s.model.hidden;
  const auto format = models::stored_format(s.strategy.precision.compute);
  cost::Router router(s.cluster.topology);
  try {
    s.strategy.stage_places =
        stage_places_along(s.strategy, router, elements * Bytes{size_of(format)});
  } catch (const cost::Unreachable&) {
    s.strategy.stage_places.clear();  // the run tells which way is missing
  }
}

}  // namespace tsim::sim
