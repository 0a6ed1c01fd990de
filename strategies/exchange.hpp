// What ranks with different experts send each other.
#pragma once

#include <vector>

#include "cost/collectives.hpp"
#include "models/model.hpp"
#include "models/routing/routing.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// Where the tokens of a group of experts' ranks go, drawn once for each MoE layer; all groups and
/// micro-batches share the draw.
struct ExpertDraws {
  std::vector<models::RoutedLayer> layers;
  std::vector<std::vector<std::int64_t>> shadows;  // by layer: experts that all ranks get
};
/// None where experts get as many rows as each other.
ExpertDraws draw_experts(const models::Model& model, const Strategy& strategy);

/// Rows that one of `ranks` computes over the mean, in MoE layer `layer`.
double load_of(const ExpertDraws& draws, std::size_t layer, int ranks, int rank);

/// Of an exchange: what each rank has for all, in equal parts or as a draw says; `back` from the
/// experts' ranks.
struct ExchangeTraffic {
  Bytes payload;
  const models::RoutedLayer* drawn = nullptr;
  bool back = false;
  const std::vector<std::int64_t>* shadows = nullptr;  // experts whose rows stay where they are
};

}  // namespace tsim::strategies
