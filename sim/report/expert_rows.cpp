#include "sim/report/expert_rows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "strategies/block_chain.hpp"
#include "strategies/shadows.hpp"
#include "strategies/tensor/kernel_parts.hpp"
#include "strategies/tensor/shard_block.hpp"

namespace tsim::sim {
namespace {

using models::Kernel;
using models::RoutedLayer;

/// A sample of the ranks that tells imbalance and drops to about a percent.
constexpr int kMostSources = 64;

bool has_experts(const models::Block& block) {
  return strategies::is_layer(block.kind) &&
         std::ranges::any_of(block.graph.ops, [](const models::Op& op) {
           return op.kind == models::OpKind::dispatch;
         });
}

/// The part of a grouped product that is one expert's.
Kernel of_one_expert(Kernel kernel, std::int64_t experts) {
  const double share = 1.0 / static_cast<double>(experts);
  kernel.batch = std::min<std::int64_t>(kernel.batch, 1);
  kernel.flops = share * kernel.flops;
  kernel.bytes = Bytes{kernel.bytes.value / experts};
  kernel.elements = kernel.elements / experts;
  return kernel;
}

/// Kernels of one expert with `load` times the mean's rows, forward and backward.
Seconds expert_time(const models::Block& block, std::int64_t experts, const Scenario& s,
                    const models::Model& model, double load) {
  strategies::TensorSplit split = tensor_split(model, s.strategy);
  split.sharding.experts.load = load;
  const strategies::ShardedBlock sharded = shard_block(block.graph, split);
  const models::BlockKernels kernels = models::kernels(sharded.graph, s.strategy.fusion);
  const std::int64_t here = std::max<std::int64_t>(1, experts / s.strategy.experts.ranks);
  const cost::Device& device = s.cluster.devices.front();
  Seconds sum;
  for (const auto* list : {&kernels.forward, &kernels.backward_input, &kernels.backward_weight}) {
    for (const Kernel& kernel : *list) {
      if (kernel.part != models::Part::experts) { continue; }
      sum +=
          kernel_piece(of_one_expert(kernel, here), device, strategies::Phase::forward).on_device;
    }
  }
  return sum;
}

double rank_imbalance(const RoutedLayer& layer, int ranks,
                      const std::vector<std::int64_t>& shadows) {
  const std::vector<std::int64_t> rows = strategies::rank_rows(layer, ranks, shadows);
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  const auto most = static_cast<double>(*std::ranges::max_element(rows));
  return all > 0 ? most * ranks / all : 1.0;
}

/// Of one micro-batch [batch, sequence, hidden], as the layer's router reads them.
std::int64_t tokens_of(const models::Block& block) {
  const auto dispatch =
      std::ranges::find(block.graph.ops, models::OpKind::dispatch, &models::Op::kind);
  const models::Shape& shape = dispatch->inputs.front().shape;
  return models::elements(shape) / shape.back().size;
}

class Rows {
 public:
  Rows(const Scenario& scenario, const Simulation& simulation)
      : s_(scenario), model_(simulation.model), draws_(simulation.draws) {}

  std::vector<ExpertRow> run() && {
    int layer = 0;
    for (const models::Block& block : model_.blocks) {
      const int copies = strategies::is_layer(block.kind) ? block.count : 0;
      for (int copy = 0; has_experts(block) && copy < copies; ++copy) { add(block, layer + copy); }
      layer += copies;
    }
    return std::move(rows_);
  }

 private:
  std::int64_t experts_of(int layer) const {
    return layer_experts(model_.config)[static_cast<std::size_t>(layer)];
  }

  /// Sources that route together send their own part of the tokens.
  RoutedLayer routed(const models::Block& block, std::int64_t experts) const {
    const strategies::ExpertParallel& e = s_.strategy.experts;
    const strategies::Strategy& s = s_.strategy;
    const std::int64_t cut = std::int64_t{s.context} * (cuts_tokens(s) ? s.tensor : 1);
    const std::int64_t senders = cuts_tokens(s) ? expert_tensor(s) : 1;
    const std::int64_t tokens = tokens_of(block) * senders / cut;
    return route(e.routing, {.experts = experts,
                             .top_k = std::min(model_.config.moe.top_k, experts),
                             .tokens = std::max<std::int64_t>(1, tokens),
                             .sources = std::min(e.ranks, kMostSources),
                             .nodes = e.nodes,
                             .layer = count_});
  }

  /// With experts that choose, tokens that none of them took.
  double dropped(const RoutedLayer& layer) const {
    const bool choose = s_.strategy.experts.routing.kind == models::RoutingKind::expert_choice;
    const double all =
        choose ? static_cast<double>(layer.routed) /
                     (s_.strategy.experts.routing.capacity_factor *
                      static_cast<double>(std::min(model_.config.moe.top_k, layer.experts)))
               : static_cast<double>(layer.routed);
    return all > 0 ? static_cast<double>(layer.dropped) / all : 0.0;
  }

  void add(const models::Block& block, int layer) {
    const std::int64_t experts = experts_of(layer);
    const bool drawn = !draws_.layers.empty();
    const RoutedLayer routed_here =
        drawn ? draws_.layers[static_cast<std::size_t>(count_)] : routed(block, experts);
    const auto shadows =
        drawn ? draws_.shadows[static_cast<std::size_t>(count_)] : std::vector<std::int64_t>{};
    ++count_;
    const bool whole_buffers = strategies::capacity_factor(s_.strategy.experts) > 0;
    ExpertRow row{.first_layer = layer,
                  .last_layer = layer,
                  .experts = experts,
                  .imbalance = routed_here.imbalance,
                  .dropped = dropped(routed_here),
                  .mean = expert_time(block, experts, s_, model_, 1)};
    row.slowest = whole_buffers || row.imbalance == 1
                      ? row.mean
                      : expert_time(block, experts, s_, model_, row.imbalance);
    const int ranks = s_.strategy.experts.ranks;
    row.rank_imbalance = whole_buffers ? 1.0 : rank_imbalance(routed_here, ranks, shadows);
    row.shadows = std::ssize(shadows);
    if (!rows_.empty() && same(rows_.back(), row)) {
      rows_.back().last_layer = layer;
    } else {
      rows_.push_back(row);
    }
  }

  static bool same(const ExpertRow& a, const ExpertRow& b) {
    return a.last_layer + 1 == b.first_layer && a.experts == b.experts &&
           a.imbalance == b.imbalance && a.rank_imbalance == b.rank_imbalance &&
           a.dropped == b.dropped && a.slowest == b.slowest && a.shadows == b.shadows;
  }

  const Scenario& s_;
  const models::Model& model_;
  const strategies::ExpertDraws& draws_;
  int count_ = 0;  // layers with experts so far
  std::vector<ExpertRow> rows_;
};

}  // namespace

std::vector<ExpertRow> expert_rows(const Scenario& scenario, const Simulation& simulation) {
  return Rows(scenario, simulation).run();
}

}  // namespace tsim::sim
