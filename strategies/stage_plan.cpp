#include "strategies/stage_plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "strategies/block_chain.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/chunk_programs.hpp"
#include "strategies/deal.hpp"
#include "strategies/exchange.hpp"
#include "strategies/fit_layers.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/recompute.hpp"
#include "strategies/schedule.hpp"
#include "strategies/tensor/statistics.hpp"

namespace tsim::strategies {
namespace {

using models::BlockKind;

struct Units {
  int from = 0, to = 0;  // of the chain
};

std::vector<UnitPlans> units_in(const Chain& chain, Units units) {
  std::vector<UnitPlans> list;
  for (auto u = static_cast<std::size_t>(units.from); u < static_cast<std::size_t>(units.to); ++u) {
    list.push_back({&chain.plans[static_cast<std::size_t>(chain.units[u])], chain.layer_of[u]});
  }
  return list;
}

struct ChunkSpec {
  Units units;
  int stage = 0;
  int embedding_user = -1;  // whose backward is the last to add to the word embedding's gradient on
                            // this stage
  bool gathers_input = false, gathers_gradient = false;  // which arrive cut over the tensor group
};

void gather_messages(const Chain& chain, const ChunkSpec& spec, int tensor,
                     std::vector<BlockPlan>& plans) {
  if (spec.gathers_input) {
    const BlockPlan& before = chain.plan_of(spec.units.from - 1);
    gather_first(Phase::forward, before.output + before.memory, tensor, plans.front().forward);
  }
  if (spec.gathers_gradient) {
    BlockPlan& last = plans.back();
    gather_first(Phase::backward, last.output + last.memory, tensor, last.backward);
    gather_first(Phase::input_grad, last.output + last.memory, tensor, last.input_grad);
  }
}

/// Of a chunk's weights; the word embedding's with the block that completes it.
Bytes gradients_of(const std::vector<ChunkBlock>& blocks, const Strategy& strategy) {
  std::int64_t elements = 0;
  std::int64_t whole = 0;
  ExpertWeights experts;
  for (const ChunkBlock& block : blocks) {
    add(experts, block.plan->experts);
    elements += block.plan->weights.own;
    elements += block.completes_embedding ? block.plan->weights.embedding : 0;
    whole += block.plan->weights.small;
  }
  const StateBytes states = state_bytes(elements, strategy, whole, {}, experts);
  return states_on_device(states, strategy, whole).gradients;
}

ChunkPlan plan_chunk(const Chain& chain, const ChunkSpec& spec, const Strategy& strategy,
                     const cost::Device& device) {
  const Units units = spec.units;
  ChunkPlan plan;
  std::vector<ChunkBlock> blocks;
  bool has_encoder_output = false;  // the decoder's embedding keeps it
  Bytes encoder_output;
  std::vector<BlockPlan> plans = plans_of_chunk(units_in(chain, units), strategy, plan);
  int leaving = layers_elsewhere(strategy, spec.stage, plan.layers);
  for (int u = units.from; u < units.to; ++u) {
    const auto block = static_cast<std::size_t>(chain.units[static_cast<std::size_t>(u)]);
    const BlockPlan& b = plans[static_cast<std::size_t>(u - units.from)];
    const BlockKind kind = chain.kinds[block];
    plan.embedding = plan.embedding || kind == BlockKind::embedding;
    plan.head = plan.head || kind == BlockKind::head;
    encoder_output = std::max(encoder_output, b.memory);
    has_encoder_output = has_encoder_output || kind == BlockKind::decoder_embedding;
    const bool leaves = is_layer(kind) && leaving-- > 0;
    blocks.push_back({&b, u == spec.embedding_user, leaves ? b.activations : Bytes{}});
    add_block_memory(b, leaves, plan);
  }
  if (strategy.gradients_when_made) { plan.gradients = gradients_of(blocks, strategy); }
  // A stage of decoder layers alone keeps a copy of its own of what the encoder made.
  if (!has_encoder_output) { plan.activations += encoder_output; }
  gather_messages(chain, spec, strategy.tensor, plans);
  add_programs(blocks, strategy, device, plan);
  return plan;
}

/// One step on the rank's share of the stage's weights.
Seconds step_time(const StagePlan& stage, const Strategy& s, const cost::Device& device) {
  const std::int64_t dense = stage.elements - stage.experts.elements;
  const Seconds time = optimizer_time(share_of({dense, stage.shapes}, state_shards(s)), s, device);
  if (stage.experts.elements == 0) { return time; }
  const Weights experts{stage.experts.elements, stage.experts.shapes};
  return time + optimizer_time(share_of(experts, expert_state_shards(s)), s, device);
}

/// Unit where a part begins that `layer` layers come before: with the blocks before that layer, but
/// for the embedding where a part has nothing else; behind the last layer the head.
int unit_after(const Chain& chain, int layer) {
  if (layer == 0) {
    return static_cast<int>(std::ranges::find(chain.layer_of, 0) - chain.layer_of.begin());
  }
  const auto layers = static_cast<int>(chain.layer_begin.size());
  if (layer < layers) { return chain.layer_begin[static_cast<std::size_t>(layer)]; }
  const auto last = std::ranges::find(chain.layer_of, layers - 1);
  return static_cast<int>(last - chain.layer_of.begin()) + 1;
}

/// First unit of each part, and the end of the last one.
std::vector<int> part_bounds(const Chain& chain, const std::vector<int>& counts) {
  std::vector<int> bounds{0};
  int layer = 0;
  for (std::size_t part = 0; part + 1 < counts.size(); ++part) {
    layer += counts[part];
    bounds.push_back(unit_after(chain, layer));
  }
  bounds.push_back(static_cast<int>(chain.units.size()));
  return bounds;
}

Units units_of(const std::vector<int>& bounds, int part) {
  return {bounds[static_cast<std::size_t>(part)], bounds[static_cast<std::size_t>(part) + 1]};
}

/// The first unit of a stage that uses the word embedding, or -1. All of a stage's units share one
/// copy, and backwards run from the last unit to the first.
int embedding_user_of(const Chain& chain, const std::vector<int>& bounds,
                      const PipelineShape& shape, int stage) {
  int user = -1;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    const Units units = units_of(bounds, part_of(shape, {stage, chunk}));
    for (int u = units.from; u < units.to; ++u) {
      if (chain.plan_of(u).weights.embedding > 0 && (user < 0 || u < user)) { user = u; }
    }
  }
  return user;
}

/// Layers before each part.
std::vector<int> first_layers(const std::vector<int>& counts) {
  std::vector<int> first(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, first.begin() + 1);
  return first;
}

/// Whether the part that is `offset` after the seat's is on another stage.
bool sends(const PipelineShape& shape, Seat seat, int offset) {
  const auto other = neighbour(shape, seat, offset);
  return other && other->stage != seat.stage;
}

/// Plans the chunks of one stage. What enters them is not known yet.
StagePlan plan_stage(const Chain& chain, const std::vector<int>& bounds, const Strategy& strategy,
                     const cost::Device& device, int stage_index) {
  const PipelineShape shape = shape_of(strategy, 1);
  const int embedding_user = embedding_user_of(chain, bounds, shape, stage_index);
  StagePlan stage;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    const Units units = units_of(bounds, part_of(shape, {stage_index, chunk}));
    const bool cut = cuts_messages(strategy) && strategy.tensor > 1;
    const ChunkSpec spec{.units = units,
                         .stage = stage_index,
                         .embedding_user = embedding_user,
                         .gathers_input = cut && sends(shape, {stage_index, chunk}, -1),
                         .gathers_gradient = cut && sends(shape, {stage_index, chunk}, 1)};
    stage.chunks.push_back(plan_chunk(chain, spec, strategy, device));
    for (int u = units.from; u < units.to; ++u) {
      stage.elements += chain.plan_of(u).weights.own;
      add(stage.shapes, chain.plan_of(u).shapes);
      add(stage.experts, chain.plan_of(u).experts);
      add(stage.frozen, chain.plan_of(u).frozen);
      stage.whole += chain.plan_of(u).weights.small;
      for (const SharedGradients& s : chain.plan_of(u).shared) {
        add_shared(stage.shared, s.ranks, s.elements);
      }
    }
  }
  if (embedding_user >= 0) {
    stage.embedding_elements = chain.plan_of(embedding_user).weights.embedding;
    add(stage.shapes, {.products = {}, .tables = chain.plan_of(embedding_user).word_embedding});
  }
  stage.elements += stage.embedding_elements;
  stage.optimizer = step_time(stage, strategy, device);
  return stage;
}

}  // namespace

StateBytes states_of(const StagePlan& stage, const Strategy& strategy) {
  return with_frozen(
      state_bytes(stage.elements, strategy, stage.whole, stage.shapes, stage.experts), stage.frozen,
      strategy);
}

std::int64_t whole_elements(const StagePlan& stage) { return stage.whole + stage.frozen.whole; }

std::vector<int> deal_layers(const models::Model& model, const Strategy& strategy,
                             const cost::Device& device) {
  const Chain chain = make_chain(model, strategy, device);
  return deal({running_sums(layer_times(chain, strategy))}, chain.encoder_layers, strategy);
}

namespace {

std::vector<StagePlan> plan_with(const Chain& chain, const std::vector<int>& counts,
                                 const Strategy& strategy, const cost::Device& device) {
  const std::vector<int> bounds = part_bounds(chain, counts);
  const std::vector<int> layers = first_layers(counts);
  const PipelineShape shape = shape_of(strategy, 1);
  std::vector<StagePlan> stages;
  std::vector<Bytes> outputs(counts.size());
  int with_embedding = 0;
  for (int s = 0; s < strategy.pipeline; ++s) {
    stages.push_back(plan_stage(chain, bounds, strategy, device, s));
    with_embedding += stages.back().embedding_elements > 0 ? 1 : 0;
    for (int c = 0; c < shape.chunks; ++c) {
      const auto part = static_cast<std::size_t>(part_of(shape, {s, c}));
      ChunkPlan& chunk = stages.back().chunks[static_cast<std::size_t>(c)];
      chunk.first_layer = layers[part];
      outputs[part] = chunk.output;
    }
  }
  for (int s = 0; s < strategy.pipeline; ++s) {
    StagePlan& stage = stages[static_cast<std::size_t>(s)];
    // Both holders of a part add up all of its gradients when the model is held twice.
    stage.shares_embedding = with_embedding > 1 && stage.embedding_elements > 0 &&
                             shape.placement != Placement::bidirectional;
    for (int c = 0; c < shape.chunks; ++c) {
      const int part = part_of(shape, {s, c});
      if (part == 0) { continue; }
      stage.chunks[static_cast<std::size_t>(c)].input = outputs[static_cast<std::size_t>(part) - 1];
    }
  }
  return stages;
}

/// By stage, what the device with least memory has for a program.
std::vector<Bytes> capacities(const std::vector<cost::Device>& kinds,
                              const std::vector<std::vector<int>>& present) {
  std::vector<Bytes> of_stage;
  of_stage.reserve(present.size());
  for (const std::vector<int>& here : present) {
    Bytes least{std::numeric_limits<std::int64_t>::max()};
    for (const int kind : here) {
      const cost::Device& device = kinds[static_cast<std::size_t>(kind)];
      least = std::min(least, device.memory - device.reserved);
    }
    of_stage.push_back(least);
  }
  return of_stage;
}

Seconds compute_time(const StagePlan& plan) {
  Seconds sum;
  for (const ChunkPlan& chunk : plan.chunks) {
    sum += compute_time(chunk.forward) + compute_time(chunk.backward);
  }
  return sum;
}

}  // namespace

std::vector<StagePlan> plan_stages(const models::Model& model, const Strategy& strategy,
                                   const cost::Device& device) {
  const Chain chain = make_chain(model, strategy, device);
  const std::vector<int> counts =
      deal({running_sums(layer_times(chain, strategy))}, chain.encoder_layers, strategy);
  return plan_with(chain, counts, strategy, device);
}

std::vector<std::vector<StagePlan>> plan_stages(const models::Model& model,
                                                const Strategy& strategy,
                                                const std::vector<cost::Device>& kinds,
                                                const std::vector<std::vector<int>>& present,
                                                int micro_batches) {
  std::vector<Chain> chains;
  std::vector<Sums> sums;
  const int variants = rank_variants(strategy, model.config.causal);
  const ExpertDraws draws = draw_experts(model, strategy);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const int rank = static_cast<int>(kind) % variants;
    chains.push_back(make_chain(model, strategy, kinds[kind], {variants > 1 ? rank : -1, &draws}));
    sums.push_back(running_sums(layer_times(chains.back(), strategy)));
  }
  std::vector<Sums> by_stage;
  for (const std::vector<int>& here : present) {
    const int slowest = *std::ranges::max_element(
        here, {}, [&](int kind) { return sums[static_cast<std::size_t>(kind)].back(); });
    by_stage.push_back(sums[static_cast<std::size_t>(slowest)]);
  }
  Fits fits;
  if (strategy.split == LayerSplit::fitting) {
    fits = fits_in_memory(layer_memory(chains.front()), strategy,
                          most_in_flight(strategy, micro_batches), capacities(kinds, present));
  }
  const std::vector<int> counts = deal(by_stage, chains.front().encoder_layers, strategy, fits);
  std::vector<std::vector<StagePlan>> plans;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    plans.push_back(plan_with(chains[kind], counts, strategy, kinds[kind]));
  }
  return plans;
}

std::vector<StagePlan> slowest_plans(const std::vector<std::vector<StagePlan>>& by_kind,
                                     const std::vector<std::vector<int>>& present) {
  std::vector<StagePlan> plans;
  for (std::size_t stage = 0; stage < present.size(); ++stage) {
    const auto& here = present[stage];
    const int slowest = *std::ranges::max_element(here, {}, [&](int kind) {
      return compute_time(by_kind[static_cast<std::size_t>(kind)][stage]);
    });
    plans.push_back(by_kind[static_cast<std::size_t>(slowest)][stage]);
  }
  return plans;
}

}  // namespace tsim::strategies
