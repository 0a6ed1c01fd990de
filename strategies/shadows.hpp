// Popular experts that come to the tokens in place of tokens to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/op_graph.hpp"
#include "models/routing/routing.hpp"
#include "strategies/exchange.hpp"

namespace tsim::strategies {

/// What the rule weighs, of one MoE layer over `ranks` ranks.
struct ShadowCosts {
  int ranks = 1;
  Seconds compute;      // of one row in the forward
  Seconds send_row;     // one row, one way
  Seconds send_expert;  // an expert's parameters, one way
};
ShadowCosts shadow_costs(const models::OpGraph& layer, const ExpertParallel& experts);

/// Experts that every rank gets: the most popular ones, one after another as long as
///   3 C max(rows computed) + 4 R max(rows received) + 2 E shadows
/// falls: a forward and two backward products, rows and gradients there and back, parameters there
/// and gradients back.
///   [He et al., FasterMoE, PPoPP 2022, sec. 4.1; laekov/fastmoe, fmoe/fastermoe/shadow_policy.py,
///   which leaves the gradients' way back out]
std::vector<std::int64_t> chosen_shadows(const models::RoutedLayer& layer,
                                         const ShadowCosts& costs);

/// Rows that each of `ranks` computes: all of its own experts', but of shadowed ones its own
/// tokens', whoever's experts they are. Their sum is the layer's.
std::vector<std::int64_t> rank_rows(const models::RoutedLayer& layer, int ranks,
                                    std::span<const std::int64_t> shadows);

/// The ranks that hold the shadowed experts of MoE layer `layer`.
std::vector<int> shadow_owners(const ExpertDraws& draws, std::size_t layer, int ranks);

/// Parameters of one expert as a rank of `layer` holds them.
Bytes bytes_of_expert(const models::OpGraph& layer);

/// A rank's part of a layer with `shadows` more experts, which share its rows: what its kernels
/// compute. Tensors stay what the rank holds.
models::OpGraph with_shadows(models::OpGraph layer, std::int64_t shadows);

}  // namespace tsim::strategies
