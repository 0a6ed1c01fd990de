#include <algorithm>
#include <array>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

/// Weights that a micro-batch in flight still needs: stage s holds as many versions as
/// micro-batches.   [arXiv:1806.03377, sec. 3.3]
int stashed_versions(int stages, int stage) { return stages - stage; }
/// Double-buffered weights.   [arXiv:2006.09503, sec. 3.1]
int two_versions(int stages, int /*stage*/) { return stages > 1 ? 2 : 1; }

constexpr std::array kSchedules{
    Schedule{.name = "naive",
             .summary = "one micro-batch in flight",
             .order = each_stage<naive>,
             .idle = naive_idle},
    Schedule{.name = "gpipe",
             .summary = "all forwards, then all backwards",
             .order = each_stage<gpipe>,
             .idle = fill_and_drain},
    Schedule{.name = "1f1b",
             .summary = "one forward, one backward (PipeDream-flush, DAPPLE)",
             .order = each_stage<one_f_one_b>,
             .idle = fill_and_drain},
    Schedule{.name = "pipedream",
             .summary = "1F1B, the optimizer steps after every micro-batch, weights stashed",
             .order = each_stage<one_f_one_b>,
             .idle = fill_and_drain,
             .weight_versions = stashed_versions,
             .steps_each = true},
    Schedule{.name = "pipedream_2bw",
             .summary = "1F1B with two versions of the weights",
             .order = each_stage<one_f_one_b>,
             .idle = fill_and_drain,
             .weight_versions = two_versions},
    Schedule{.name = "interleaved",
             .summary = "1F1B over several chunks a stage, depth first",
             .chunks = 0,
             .order = each_stage<interleaved>,
             .idle = fill_and_drain,
             .demand = interleaved_demand},
    Schedule{.name = "breadth_first",
             .summary = "all micro-batches through a chunk before the next chunk",
             .chunks = 0,
             .order = each_stage<breadth_first>,
             .idle = fill_and_drain},
    Schedule{.name = "zb_h1",
             .summary = "1F1B, weight gradients put off; 1F1B's memory",
             .splits_backward = true,
             .order = each_stage<zb_h1>,
             .idle = zb_h1_idle},
    Schedule{.name = "zb_h2",
             .summary = "weight gradients put off, twice 1F1B's memory",
             .splits_backward = true,
             .order = each_stage<zb_h2>,
             .idle = zb_h2_idle},
    Schedule{.name = "zb_v",
             .summary = "two chunks a stage in a V, weight gradients put off",
             .placement = Placement::wave,
             .chunks = 2,
             .splits_backward = true,
             .order = each_stage<zb_v>,
             .idle = zb_v_idle},
    Schedule{.name = "zb_auto",
             .summary = "weight gradients where costs and a memory limit say",
             .splits_backward = true,
             .order = zb_auto},
    Schedule{.name = "chimera",
             .summary = "two copies of the model in opposite directions",
             .placement = Placement::bidirectional,
             .chunks = 2,
             .order = without_costs<chimera>,
             .idle = chimera_idle,
             .demand = chimera_demand},
    Schedule{.name = "hanayo",
             .summary = "waves: 2 chunks a stage for each",
             .placement = Placement::wave,
             .chunks = 0,
             .usual_chunks = 2,
             .order = without_costs<hanayo>,
             .idle = hanayo_idle,
             .demand = hanayo_demand},
    Schedule{.name = "dualpipe",
             .summary = "two directions, forwards paired with backwards",
             .placement = Placement::bidirectional,
             .chunks = 2,
             .splits_backward = true,
             .order = each_stage<dualpipe>,
             .idle = dualpipe_idle,
             .demand = dualpipe_demand},
    Schedule{.name = "dualpipe_v",
             .summary = "DualPipe folded into a V: one copy of the model",
             .placement = Placement::wave,
             .chunks = 2,
             .splits_backward = true,
             .order = each_stage<dualpipe_v>,
             .idle = dualpipe_v_idle,
             .demand = dualpipe_v_demand},
    Schedule{.name = "terapipe",
             .summary = "samples cut into slices of tokens, all forwards, then all backwards",
             .order = each_stage<gpipe>},
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule* schedule_named(std::string_view name) {
  const auto* const found = std::find_if(kSchedules.begin(), kSchedules.end(),
                                         [name](const Schedule& s) { return s.name == name; });
  return found == kSchedules.end() ? nullptr : found;
}

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  names.reserve(kSchedules.size());
  for (const Schedule& s : kSchedules) { names.push_back(s.name); }
  return names;
}

}  // namespace tsim::strategies
