#include "strategies/gradient_norm.hpp"

#include "strategies/schedule.hpp"

namespace tsim::strategies {

bool waits_for_norm(const Strategy& strategy) {
  const Schedule* const schedule = schedule_named(strategy.schedule);
  const bool afterwards = schedule != nullptr && schedule->splits_backward;
  return strategy.gradient_clipping && !afterwards && !steps_each(strategy);
}

std::vector<int> norm_ranks(const Layout& layout, const Strategy& strategy, int replica) {
  const bool all = shard_count(strategy) > 1;
  std::vector<int> ranks;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    for (int r = all ? 0 : replica; r < (all ? layout.replicas() : replica + 1); ++r) {
      const std::vector<int> group = layout.tensor_group(r, stage);
      ranks.insert(ranks.end(), group.begin(), group.end());
    }
  }
  return ranks;
}

Stream norm_stream(const Strategy& strategy) {
  if (shard_count(strategy) > 1) { return Stream::dp; }
  return strategy.pipeline > 1 ? Stream::pp : Stream::tp;
}

}  // namespace tsim::strategies
