#include "strategies/shadows.hpp"

#include <algorithm>
#include <numeric>

namespace tsim::strategies {
namespace {

using models::Axis;
using models::Dim;
using models::Op;
using models::RoutedLayer;

bool is_expert_weight(const models::Tensor& tensor) {
  return tensor.role == models::Role::weight && has_axis(tensor.shape, Axis::expert);
}

/// Of one expert's part of `tensor`.
std::int64_t elements_of_expert(const models::Tensor& tensor) {
  const auto axis = std::ranges::find(tensor.shape, Axis::expert, &Dim::axis);
  return models::elements(tensor.shape) / axis->size;
}

std::int64_t experts_of_rank(const RoutedLayer& layer, int ranks) { return layer.experts / ranks; }

/// Rows of each rank's own experts that come from others: all but those that stay.
std::vector<std::int64_t> received(const RoutedLayer& layer, int ranks,
                                   std::span<const std::int64_t> shadows) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks), 0);
  const std::int64_t own = experts_of_rank(layer, ranks);
  for (std::int64_t e = 0; e < layer.experts; ++e) {
    if (std::ranges::find(shadows, e) != shadows.end()) { continue; }
    const auto owner = static_cast<int>(e / own);
    for (int source = 0; source < ranks; ++source) {
      if (source != owner) { rows[static_cast<std::size_t>(owner)] += layer.at(source, e); }
    }
  }
  return rows;
}

double latency(const RoutedLayer& layer, const ShadowCosts& costs,
               std::span<const std::int64_t> shadows) {
  const std::vector<std::int64_t> computed = rank_rows(layer, costs.ranks, shadows);
  const std::vector<std::int64_t> from_others = received(layer, costs.ranks, shadows);
  const auto most = [](const std::vector<std::int64_t>& rows) {
    return static_cast<double>(*std::ranges::max_element(rows));
  };
  return 3 * costs.compute.value * most(computed) + 4 * costs.send_row.value * most(from_others) +
         2 * costs.send_expert.value * static_cast<double>(shadows.size());
}

/// The rows are shared by more experts.
void spread(models::Shape& shape, std::int64_t shadows) {
  const auto expert = std::ranges::find(shape, Axis::expert, &Dim::axis);
  if (expert == shape.end()) { return; }
  const std::int64_t own = expert->size;
  expert->size += shadows;
  const auto slots = std::ranges::find(shape, Axis::slots, &Dim::axis);
  if (slots != shape.end()) {
    slots->size = std::max<std::int64_t>(1, (slots->size * own + expert->size - 1) / expert->size);
  }
}

}  // namespace

ShadowCosts shadow_costs(const models::OpGraph& layer, const ExpertParallel& experts) {
  const auto dispatch = std::ranges::find(layer.ops, models::OpKind::dispatch, &Op::kind);
  const models::Operand& row = dispatch->outputs.front();
  const models::DType format = layer.tensors[static_cast<std::size_t>(row.tensor)].dtype;
  std::int64_t parameters = 0;
  for (const models::Tensor& t : layer.tensors) {
    if (is_expert_weight(t)) { parameters += elements_of_expert(t); }
  }
  const Shadowing& s = experts.shadowing;
  const Bytes row_size = row.shape.back().size * Bytes{size_of(format)};
  return {.ranks = experts.ranks,
          .compute = Flops{2.0 * static_cast<double>(parameters)} / s.compute,
          .send_row = row_size / s.network,
          .send_expert = bytes_of_expert(layer) / s.network};
}

std::vector<std::int64_t> chosen_shadows(const RoutedLayer& layer, const ShadowCosts& costs) {
  const std::vector<std::int64_t> rows = models::expert_rows(layer);
  std::vector<std::int64_t> popular(rows.size());
  std::iota(popular.begin(), popular.end(), std::int64_t{0});
  std::ranges::stable_sort(popular, [&rows](std::int64_t a, std::int64_t b) {
    return rows[static_cast<std::size_t>(a)] > rows[static_cast<std::size_t>(b)];
  });
  double best = latency(layer, costs, {});
  std::size_t count = 0;
  while (count < popular.size()) {
    const double next = latency(layer, costs, std::span(popular).first(count + 1));
    if (next >= best) { break; }
    best = next;
    ++count;
  }
  popular.resize(count);
  return popular;
}

std::vector<std::int64_t> rank_rows(const RoutedLayer& layer, int ranks,
                                    std::span<const std::int64_t> shadows) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks), 0);
  const std::int64_t own = experts_of_rank(layer, ranks);
  for (std::int64_t e = 0; e < layer.experts; ++e) {
    const bool stays = std::ranges::find(shadows, e) != shadows.end();
    for (int source = 0; source < ranks; ++source) {
      const auto computes = stays ? std::int64_t{source} : e / own;
      rows[static_cast<std::size_t>(computes)] += layer.at(source, e);
    }
  }
  return rows;
}

std::vector<int> shadow_owners(const ExpertDraws& draws, std::size_t layer, int ranks) {
  const std::int64_t own = experts_of_rank(draws.layers[layer], ranks);
  std::vector<int> owners;
  owners.reserve(draws.shadows[layer].size());
  for (const std::int64_t e : draws.shadows[layer]) { owners.push_back(static_cast<int>(e / own)); }
  return owners;
}

Bytes bytes_of_expert(const models::OpGraph& layer) {
  Bytes sum;
  for (const models::Tensor& t : layer.tensors) {
    if (is_expert_weight(t)) { sum += elements_of_expert(t) * Bytes{size_of(t.dtype)}; }
  }
  return sum;
}

models::OpGraph with_shadows(models::OpGraph layer, std::int64_t shadows) {
  for (Op& op : layer.ops) {
    if (op.part != models::Part::experts) { continue; }
    spread(op.space, shadows);
    for (auto* operands : {&op.inputs, &op.weights, &op.outputs}) {
      for (models::Operand& operand : *operands) { spread(operand.shape, shadows); }
    }
  }
  return layer;
}

}  // namespace tsim::strategies
