#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "strategies/memory.hpp"
#include "strategies/recompute.hpp"
#include "strategies/schedule.hpp"
#include "strategies/tensor/shard_block.hpp"

namespace tsim::strategies {
namespace {

constexpr std::array kChoices{Recompute::none, Recompute::selective, Recompute::full};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Choices for the first layers, and what they add up to.
struct Partial {
  Bytes kept;
  Seconds again;
  std::size_t before = 0;  // index among the partials of one layer fewer
  Recompute choice{};      // of the last of these layers
};

/// Drops what another partial beats or equals in both memory and time.
std::vector<Partial> undominated(std::vector<Partial> all) {
  std::ranges::stable_sort(all, [](const Partial& a, const Partial& b) {
    return a.kept < b.kept || (a.kept == b.kept && a.again < b.again);
  });
  std::vector<Partial> best;
  for (const Partial& p : all) {
    // Sums of the same terms in another order differ in their last digits.
    const bool quicker = best.empty() || p.again.value < best.back().again.value * (1 - 1e-12);
    if (quicker) { best.push_back(p); }
  }
  return best;
}

struct Solution {
  std::vector<Recompute> choices;
  Seconds again{std::numeric_limits<double>::infinity()};
};

/// Best of the choices whose workspace is at most `workspace`, which is taken to be needed.
Solution solve(const std::vector<LayerChoices>& layers, Bytes room, Bytes workspace) {
  std::vector<std::vector<Partial>> partials{{Partial{}}};
  for (const LayerChoices& layer : layers) {
    std::vector<Partial> next;
    next.reserve(partials.back().size() * kChoices.size());
    for (std::size_t i = 0; i < partials.back().size(); ++i) {
      for (const Recompute r : kChoices) {
        const LayerChoice& choice = layer[static_cast<std::size_t>(r)];
        if (choice.workspace > workspace) { continue; }
        const Partial& before = partials.back()[i];
        next.push_back({before.kept + choice.kept, before.again + choice.again, i, r});
      }
    }
    partials.push_back(undominated(std::move(next)));
  }
  // They are sorted by memory, and the more memory one takes the quicker it is.
  const auto& whole = partials.back();
  const auto end =
      std::ranges::find_if(whole, [&](const Partial& p) { return p.kept + workspace > room; });
  if (end == whole.begin()) { return {}; }
  auto at = static_cast<std::size_t>(end - whole.begin()) - 1;
  Solution solution{std::vector<Recompute>(layers.size()), whole[at].again};
  for (std::size_t i = layers.size(); i-- > 0;) {
    const Partial& p = partials[i + 1][at];
    solution.choices[i] = p.choice;
    at = p.before;
  }
  return solution;
}

Seconds time_of(const std::vector<Piece>& pieces) {
  Seconds sum;
  for (const Piece& piece : pieces) { sum += piece.on_device; }
  return sum;
}

/// What a layer of each kind takes under each choice, for one micro-batch.
std::vector<LayerChoices> choices_of_layers(const FitInput& in) {
  const Strategy& s = in.build.strategy;
  const TensorSplit split = tensor_split(in.model, s, -1);
  std::vector<LayerChoices> layers;
  for (const models::Block& block : in.model.blocks) {
    if (block.kind != models::BlockKind::layer && block.kind != models::BlockKind::decoder_layer) {
      continue;
    }
    LayerChoices choices;
    for (const Recompute r : kChoices) {
      Strategy with = s;
      with.recompute_method = RecomputeMethod::every;
      with.recompute = r;
      const BlockPlan plan = plan_block(block, split, with, in.device);
      choices[static_cast<std::size_t>(r)] = {plan.activations, plan.backward_workspace,
                                              time_of(plan.again)};
    }
    layers.insert(layers.end(), static_cast<std::size_t>(block.count), choices);
  }
  return layers;
}

/// Micro-batches of each chunk of a stage that are most in flight at once.
std::vector<int> most_in_flight(const StageOrder& order, int chunks) {
  std::vector<int> held(index(chunks), 0);
  std::vector<int> most(index(chunks), 0);
  for (const Action& action : order) {
    int& here = held[index(action.chunk)];
    here += action.phase == Phase::forward ? 1 : 0;
    most[index(action.chunk)] = std::max(most[index(action.chunk)], here);
    here -= action.phase == Phase::backward ? 1 : 0;
  }
  return most;
}

/// Memory of a stage that no choice changes: states, messages, context, and what other blocks keep.
struct Fixed {
  Bytes held;
  Bytes workspace;
};

Fixed fixed_part(const StagePlan& stage, const std::vector<int>& in_flight,
                 const std::vector<LayerChoices>& layers, const FitInput& in) {
  const Strategy& s = in.build.strategy;
  const StateBytes states = states_on_device(states_of(stage, s), s, whole_elements(stage));
  Fixed fixed{states.parameters + states.gradients + states.optimizer + in.device.reserved, {}};
  Bytes messages;
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    const ChunkPlan& chunk = stage.chunks[c];
    Bytes others = chunk.activations + chunk.logits;
    for (int i = 0; i < chunk.layers; ++i) {
      others = others - layers[index(chunk.first_layer + i)][0].kept;
    }
    fixed.held += in_flight[c] * others;
    fixed.workspace =
        std::max({fixed.workspace, chunk.forward_workspace, chunk.backward_workspace});
    messages = std::max(messages, chunk.input + chunk.output);
  }
  if (s.pipeline > 1) { fixed.held += messages; }
  return fixed;
}

}  // namespace

std::vector<Recompute> least_recompute(const std::vector<LayerChoices>& layers, Bytes room,
                                       Bytes workspace) {
  std::set<Bytes> limits{workspace};
  for (const LayerChoices& layer : layers) {
    for (const LayerChoice& choice : layer) {
      limits.insert(std::max(workspace, choice.workspace));
    }
  }
  Solution best{std::vector<Recompute>(layers.size(), Recompute::full)};
  for (const Bytes limit : limits) {
    Solution found = solve(layers, room, limit);
    if (found.again < best.again) { best = std::move(found); }
  }
  return best.choices;
}

Strategy fit_recompute(const FitInput& in) {
  const std::vector<LayerChoices> layers = choices_of_layers(in);
  const PipelineOrder order = iteration_order(in.build);
  Strategy result = in.build.strategy;
  const PipelineShape shape = shape_of(result, 1);
  result.split = LayerSplit::list;
  result.layers_per_stage.assign(index(shape.stages * shape.chunks), 0);
  result.recompute_by_layer.assign(layers.size(), Recompute::none);
  for (int stage = 0; stage < shape.stages; ++stage) {
    const StagePlan& plan = in.build.stages[index(stage)];
    const std::vector<int> in_flight = most_in_flight(order[index(stage)], shape.chunks);
    const Fixed fixed = fixed_part(plan, in_flight, layers, in);
    std::vector<LayerChoices> here;
    std::vector<std::size_t> numbers;
    for (int c = 0; c < shape.chunks; ++c) {
      const ChunkPlan& chunk = plan.chunks[index(c)];
      result.layers_per_stage[index(part_of(shape, {stage, c}))] = chunk.layers;
      for (int i = 0; i < chunk.layers; ++i) {
        numbers.push_back(index(chunk.first_layer + i));
        here.push_back(layers[numbers.back()]);
        for (LayerChoice& choice : here.back()) { choice.kept = in_flight[index(c)] * choice.kept; }
      }
    }
    const double usable = to_double(in.device.memory - in.device.reserved) / (1 + in.allowance);
    const Bytes room = Bytes{static_cast<std::int64_t>(usable)} + in.device.reserved - fixed.held;
    const std::vector<Recompute> choices = least_recompute(here, room, fixed.workspace);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      result.recompute_by_layer[numbers[i]] = choices[i];
    }
  }
  return result;
}

}  // namespace tsim::strategies
