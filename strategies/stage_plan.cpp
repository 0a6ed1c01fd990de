#include "strategies/stage_plan.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "cost/roofline.hpp"
#include "strategies/memory.hpp"

namespace tsim::strategies {
namespace {

using models::BlockKind;

bool is_layer(BlockKind kind) {
  return kind == BlockKind::layer || kind == BlockKind::decoder_layer;
}

/// The chain of single blocks with the plan of each.
struct Chain {
  std::vector<BlockPlan> plans;  // by block of the model
  std::vector<BlockKind> kinds;  // by block of the model
  std::vector<int> units;        // block of each unit, in order
  std::vector<int> layer_begin;  // unit where layer i's group starts (embeddings before it)

  const BlockPlan& plan_of(int unit) const {
    return plans[static_cast<std::size_t>(units[static_cast<std::size_t>(unit)])];
  }
};

Chain make_chain(const models::Model& model, const Strategy& strategy, const cost::Device& device) {
  Chain chain;
  const Sharding sharding{.tensor = strategy.tensor,
                          .sequence_parallel = strategy.sequence_parallel,
                          .heads = model.config.heads,
                          .kv_heads = model.config.kv_heads};
  int begin = 0;
  for (const models::Block& block : model.blocks) {
    chain.plans.push_back(plan_block(block, sharding, strategy, device));
    chain.kinds.push_back(block.kind);
    for (int copy = 0; copy < block.count; ++copy) {
      chain.units.push_back(static_cast<int>(chain.plans.size()) - 1);
      if (is_layer(block.kind)) {
        chain.layer_begin.push_back(begin);
        begin = static_cast<int>(chain.units.size());
      }
    }
  }
  return chain;
}

Seconds unit_time(const BlockPlan& plan) {
  Seconds sum;
  for (const auto* pieces : {&plan.forward, &plan.backward}) {
    for (const Piece& piece : *pieces) { sum += piece.on_device; }
  }
  return sum;
}

/// Compute time of layer i with the embedding before it, and the head after the last.
std::vector<double> layer_times(const Chain& chain) {
  std::vector<double> times(chain.layer_begin.size(), 0.0);
  std::size_t layer = 0;
  for (std::size_t unit = 0; unit < chain.units.size(); ++unit) {
    while (layer + 1 < times.size() && static_cast<int>(unit) >= chain.layer_begin[layer + 1]) {
      ++layer;
    }
    times[layer] += unit_time(chain.plans[static_cast<std::size_t>(chain.units[unit])]).value;
  }
  return times;
}

/// Running sums of the layers' times, from 0 on.
using Sums = std::vector<double>;

Sums running_sums(const std::vector<double>& times) {
  Sums sums(times.size() + 1, 0.0);
  std::partial_sum(times.begin(), times.end(), sums.begin() + 1);
  return sums;
}

/// Contiguous parts with the least largest sum, by dynamic programming over (part, layers dealt).
/// `by_stage`: the layers' times on the devices of each stage; parts go round the stages.
std::vector<int> balanced_parts(const std::vector<Sums>& by_stage, int parts) {
  const auto layers = static_cast<int>(by_stage.front().size()) - 1;
  const auto sum = [&](int part, int from, int to) {
    const Sums& sums = by_stage[static_cast<std::size_t>(part - 1) % by_stage.size()];
    return sums[static_cast<std::size_t>(to)] - sums[static_cast<std::size_t>(from)];
  };
  const auto width = static_cast<std::size_t>(layers) + 1;
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(static_cast<std::size_t>(parts) + 1,
                                        std::vector<double>(width, kWorst));
  std::vector<std::vector<int>> cut(best.size(), std::vector<int>(width, 0));
  best[0][0] = 0.0;
  for (int part = 1; part <= parts; ++part) {
    const auto row = static_cast<std::size_t>(part);
    for (int to = part; to <= layers - (parts - part); ++to) {
      for (int from = to - 1; from >= part - 1; --from) {
        const double worst = std::max(best[row - 1][static_cast<std::size_t>(from)], sum(part, from, to));
        if (worst < best[row][static_cast<std::size_t>(to)] * (1 - 1e-12)) {
          best[row][static_cast<std::size_t>(to)] = worst;
          cut[row][static_cast<std::size_t>(to)] = from;
        }
      }
    }
  }
  std::vector<int> counts(static_cast<std::size_t>(parts));
  int to = layers;
  for (int part = parts; part >= 1; --part) {
    const int from = cut[static_cast<std::size_t>(part)][static_cast<std::size_t>(to)];
    counts[static_cast<std::size_t>(part) - 1] = to - from;
    to = from;
  }
  return counts;
}

std::vector<int> deal(const std::vector<Sums>& by_stage, const Strategy& strategy) {
  const int parts = strategy.pipeline * strategy.chunks;
  const auto layers = static_cast<int>(by_stage.front().size()) - 1;
  assert(parts <= layers);
  switch (strategy.split) {
    case LayerSplit::list: return strategy.layers_per_stage;
    case LayerSplit::even:
      assert(layers % parts == 0);
      {
        std::vector<int> counts(static_cast<std::size_t>(parts), layers / parts);
        return counts;
      }
    case LayerSplit::balanced: return balanced_parts(by_stage, parts);
  }
  return {};
}

void append(std::vector<Piece>& to, std::vector<Piece> pieces, bool drop_embedding) {
  if (drop_embedding) {
    for (Piece& piece : pieces) { piece.embedding_gradients = 0; }
  }
  to.insert(to.end(), pieces.begin(), pieces.end());
}

BucketLimits bucket_limits(const Strategy& s) {
  if (s.data == 1) { return {}; }
  if (!s.overlap_gradients) {
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    return {kAll, kAll};
  }
  const std::int64_t size = size_of(s.precision.reduction);
  const auto limit = [size](Bytes bucket) {
    return std::max<std::int64_t>(1, bucket.value / size);
  };
  return {limit(s.first_bucket), limit(s.bucket)};
}

struct Units {
  int from = 0, to = 0;  // of the chain
};

/// `embedding_user`: the unit whose backward is the last to add to the word embedding's gradient on
/// this stage.
ChunkPlan plan_chunk(const Chain& chain, Units units, int embedding_user, const Strategy& strategy,
                     const cost::Device& device) {
  ChunkPlan plan;
  std::vector<Piece> forward;
  std::vector<Piece> backward;
  bool has_encoder_output = false;  // the decoder's embedding keeps it
  Bytes encoder_output;
  for (int u = units.from; u < units.to; ++u) {
    const auto block = static_cast<std::size_t>(chain.units[static_cast<std::size_t>(u)]);
    const BlockPlan& b = chain.plans[block];
    const BlockKind kind = chain.kinds[block];
    plan.embedding = plan.embedding || kind == BlockKind::embedding;
    plan.head = plan.head || kind == BlockKind::head;
    plan.layers += is_layer(kind) ? 1 : 0;
    encoder_output = std::max(encoder_output, b.memory);
    has_encoder_output = has_encoder_output || kind == BlockKind::decoder_embedding;
    append(forward, b.forward, false);
    plan.activations += b.activations;
    plan.logits += b.logits;
    plan.forward_workspace = std::max(plan.forward_workspace, b.forward_workspace);
    plan.backward_workspace = std::max(plan.backward_workspace, b.backward_workspace);
    if (b.output.value > 0) { plan.output = b.output + b.memory; }
  }
  // A stage of decoder layers alone keeps a copy of its own of what the encoder made.
  if (!has_encoder_output) { plan.activations += encoder_output; }
  for (int u = units.to - 1; u >= units.from; --u) {
    append(backward, chain.plan_of(u).backward, u != embedding_user);
  }
  plan.forward = make_program(forward, device.host_launch);
  plan.backward = make_program(backward, device.host_launch);
  plan.last_backward = make_program(backward, device.host_launch, bucket_limits(strategy));
  return plan;
}

Seconds optimizer_time(std::int64_t elements, const Strategy& s, const cost::Device& device) {
  const std::int64_t shards = s.zero >= 1 ? s.data : 1;
  models::Kernel kernel;
  kernel.name = "optimizer";
  kernel.cls = models::OpClass::elementwise;
  kernel.bytes =
      ((elements + shards - 1) / shards) * Bytes{optimizer_traffic(s.precision, s.optimizer)};
  return cost::kernel_time(kernel, device);
}

/// First unit of each part, and the end of the last one.
std::vector<int> part_bounds(const Chain& chain, const std::vector<int>& counts) {
  std::vector<int> bounds{0};
  int layer = 0;
  for (std::size_t part = 0; part + 1 < counts.size(); ++part) {
    layer += counts[part];
    bounds.push_back(chain.layer_begin[static_cast<std::size_t>(layer)]);
  }
  bounds.push_back(static_cast<int>(chain.units.size()));
  return bounds;
}

/// By stage: the first unit that uses the word embedding, or -1. All of a stage's units share one
/// copy, and backwards run from the last unit to the first.
std::vector<int> embedding_users(const Chain& chain, const std::vector<int>& bounds, int stages) {
  std::vector<int> users(static_cast<std::size_t>(stages), -1);
  for (std::size_t part = 0; part + 1 < bounds.size(); ++part) {
    int& user = users[part % users.size()];
    for (int u = bounds[part]; u < bounds[part + 1] && user < 0; ++u) {
      if (chain.plan_of(u).weights.embedding > 0) { user = u; }
    }
  }
  return users;
}

}  // namespace

std::vector<int> deal_layers(const models::Model& model, const Strategy& strategy,
                             const cost::Device& device) {
  return deal({running_sums(layer_times(make_chain(model, strategy, device)))}, strategy);
}

namespace {

std::vector<StagePlan> plan_with(const Chain& chain, const std::vector<int>& counts,
                                 const Strategy& strategy, const cost::Device& device) {
  const std::vector<int> bounds = part_bounds(chain, counts);
  const std::vector<int> users = embedding_users(chain, bounds, strategy.pipeline);
  std::vector<StagePlan> stages(static_cast<std::size_t>(strategy.pipeline));
  Bytes carried;
  int layer = 0;
  int with_embedding = 0;
  for (std::size_t part = 0; part < counts.size(); ++part) {
    const Units units{bounds[part], bounds[part + 1]};
    const int embedding_user = users[part % users.size()];
    ChunkPlan chunk = plan_chunk(chain, units, embedding_user, strategy, device);
    chunk.input = part == 0 ? Bytes{} : carried;
    carried = chunk.output;
    chunk.first_layer = layer;
    layer += counts[part];
    StagePlan& stage = stages[part % stages.size()];
    for (int u = units.from; u < units.to; ++u) { stage.elements += chain.plan_of(u).weights.own; }
    if (embedding_user >= 0) {
      stage.embedding_elements = chain.plan_of(embedding_user).weights.embedding;
    }
    stage.chunks.push_back(std::move(chunk));
  }
  for (StagePlan& stage : stages) {
    stage.elements += stage.embedding_elements;
    with_embedding += stage.embedding_elements > 0 ? 1 : 0;
    stage.optimizer = optimizer_time(stage.elements, strategy, device);
  }
  for (StagePlan& stage : stages) {
    stage.shares_embedding = with_embedding > 1 && stage.embedding_elements > 0;
  }
  return stages;
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
  const std::vector<int> counts = deal({running_sums(layer_times(chain))}, strategy);
  return plan_with(chain, counts, strategy, device);
}

std::vector<std::vector<StagePlan>> plan_stages(const models::Model& model,
                                                const Strategy& strategy,
                                                const std::vector<cost::Device>& kinds,
                                                const std::vector<std::vector<int>>& present) {
  std::vector<Chain> chains;
  std::vector<Sums> sums;
  for (const cost::Device& kind : kinds) {
    chains.push_back(make_chain(model, strategy, kind));
    sums.push_back(running_sums(layer_times(chains.back())));
  }
  std::vector<Sums> by_stage;
  for (const std::vector<int>& here : present) {
    const int slowest = *std::ranges::max_element(here, {}, [&](int kind) {
      return sums[static_cast<std::size_t>(kind)].back();
    });
    by_stage.push_back(sums[static_cast<std::size_t>(slowest)]);
  }
  const std::vector<int> counts = deal(by_stage, strategy);
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
