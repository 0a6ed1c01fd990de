#include "strategies/recompute.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tsim::strategies {

Recompute recompute_at(const Strategy& s, LayerPlace layer) {
  const auto when = [&s](bool recomputes) { return recomputes ? s.recompute : Recompute::none; };
  switch (s.recompute_method) {
    case RecomputeMethod::every:
    case RecomputeMethod::uniform: return s.recompute;
    case RecomputeMethod::block: return when(layer.in_chunk < s.recompute_layers);
    case RecomputeMethod::list:
      return when(std::ranges::find(s.recompute_list, layer.in_model) != s.recompute_list.end());
    case RecomputeMethod::fit:
      return s.recompute_by_layer.empty()
                 ? Recompute::none
                 : s.recompute_by_layer[static_cast<std::size_t>(layer.in_model)];
  }
  return s.recompute;
}

bool recompute_differs(const Strategy& s) {
  return s.recompute_method != RecomputeMethod::every &&
         s.recompute_method != RecomputeMethod::uniform;
}

std::vector<BlockPlan> grouped(const std::vector<const BlockPlan*>& layers) {
  std::vector<BlockPlan> group;
  std::vector<Piece> again;
  Bytes recomputed;
  Bytes gradients;
  group.reserve(layers.size());
  for (const BlockPlan* layer : layers) {
    BlockPlan& plan = group.emplace_back(*layer);
    const auto own = static_cast<std::ptrdiff_t>(plan.again.size());
    plan.backward.erase(plan.backward.begin(), plan.backward.begin() + own);
    plan.input_grad.erase(plan.input_grad.begin(), plan.input_grad.begin() + own);
    again.insert(again.end(), plan.again.begin(), plan.again.end());
    plan.again.clear();
    recomputed += plan.recomputed;
    gradients = std::max(gradients, plan.backward_workspace - plan.recomputed);
    if (group.size() > 1) { recomputed += std::exchange(plan.activations, Bytes{}); }
  }
  for (BlockPlan& plan : group) { plan.backward_workspace = recomputed + gradients; }
  BlockPlan& last = group.back();
  last.again = again;
  last.backward.insert(last.backward.begin(), again.begin(), again.end());
  last.input_grad.insert(last.input_grad.begin(), again.begin(), again.end());
  return group;
}

const BlockPlan& chosen(const std::vector<BlockPlan>& plans, Recompute recompute) {
  return plans[plans.size() == 1 ? 0 : static_cast<std::size_t>(recompute)];
}

std::vector<BlockPlan> plans_of_chunk(const std::vector<UnitPlans>& units, const Strategy& strategy,
                                      ChunkPlan& chunk) {
  std::vector<BlockPlan> plans;
  std::vector<const BlockPlan*> group;
  const auto group_size = static_cast<std::size_t>(
      strategy.recompute_method == RecomputeMethod::uniform ? strategy.recompute_layers : 1);
  const auto close = [&] {
    if (group.empty()) { return; }
    std::vector<BlockPlan> made = grouped(group);
    std::move(made.begin(), made.end(), std::back_inserter(plans));
    group.clear();
  };
  plans.reserve(units.size());
  for (const UnitPlans& unit : units) {
    if (unit.layer < 0) {
      close();
      plans.push_back(unit.plans->front());
      continue;
    }
    const Recompute recompute = recompute_at(strategy, {unit.layer, chunk.layers++});
    chunk.fully += recompute == Recompute::full ? 1 : 0;
    const bool in_part = recompute == Recompute::selective || recompute == Recompute::operators;
    chunk.selectively += in_part ? 1 : 0;
    group.push_back(&chosen(*unit.plans, recompute));
    if (group.size() == group_size) { close(); }
  }
  close();
  return plans;
}

}  // namespace tsim::strategies
