#include "strategies/fit_layers.hpp"

#include <algorithm>
#include <utility>

#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

int most_held(const StageOrder& order) {
  int held = 0;
  int most = 0;
  for (const Action& action : order) {
    if (action.phase == Phase::forward) { most = std::max(most, ++held); }
    if (action.phase == Phase::backward || action.phase == Phase::weight_grad) { --held; }
  }
  return most;
}

}  // namespace

std::vector<int> most_in_flight(const Strategy& strategy, int micro_batches) {
  const PipelineOrder order = order_of(strategy, micro_batches, {});
  std::vector<int> most(order.size());
  std::transform(order.begin(), order.end(), most.begin(), most_held);
  return most;
}

Fits fits_in_memory(std::vector<LayerMemory> layers, const Strategy& strategy,
                    std::vector<int> in_flight, std::vector<Bytes> capacity) {
  return [layers = std::move(layers), strategy, in_flight = std::move(in_flight),
          capacity = std::move(capacity)](int part, int from, int to) {
    LayerMemory sum;
    for (int i = from; i < to; ++i) {
      const LayerMemory& layer = layers[static_cast<std::size_t>(i)];
      sum.elements += layer.elements;
      sum.whole += layer.whole;
      add(sum.shapes, layer.shapes);
      add(sum.experts, layer.experts);
      add(sum.frozen, layer.frozen);
      sum.activations += layer.activations;
      sum.workspace = std::max(sum.workspace, layer.workspace);
    }
    const auto stage = static_cast<std::size_t>(part);
    const StateBytes all =
        with_frozen(state_bytes(sum.elements, strategy, sum.whole, sum.shapes, sum.experts),
                    sum.frozen, strategy);
    const StateBytes states = states_on_device(all, strategy, sum.whole + sum.frozen.whole);
    const Bytes weights = parameters_in(states, weight_versions(strategy, part));
    const Bytes needed = weights + states.gradients + states.optimizer + sum.workspace +
                         in_flight[stage] * sum.activations;
    return needed <= capacity[stage];
  };
}

}  // namespace tsim::strategies
