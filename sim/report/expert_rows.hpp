// What the experts of each layer get to do.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/simulation.hpp"

namespace tsim::sim {

/// Consecutive layers with experts whose figures are the same.
struct ExpertRow {
  int first_layer = 0, last_layer = 0;  // among all layers, from 0
  std::int64_t experts = 0;             // of a layer
  double imbalance = 1;                 // rows of the fullest expert over the mean
  double rank_imbalance = 1;            // the same of ranks with different experts
  std::int64_t shadows = 0;             // experts that all ranks get
  double dropped = 0;     // of the routed rows; with experts that choose, of the tokens
  Seconds mean, slowest;  // an expert's products of one micro-batch, forward and backward: of one
                          // with as many rows as others, and of the fullest
};

/// By layer, where the model has experts: of the draw that was simulated, or, where every rank
/// computes as much, of the first ranks' (64 at most).
std::vector<ExpertRow> expert_rows(const Scenario& scenario, const Simulation& simulation);

}  // namespace tsim::sim
