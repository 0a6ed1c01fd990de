// Where the tokens of a MoE layer go: rows of every expert from every rank, as a distribution that
// is drawn once and is the same at every run.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/model.hpp"

namespace tsim::models {

/// How tokens and experts find each other.
///  dropless        each token goes to its top_k experts [arXiv:2211.15841]
///  top_k_capacity  the same, an expert takes no more than its capacity of every group of tokens:
///                  Switch (top_k 1) [arXiv:2101.03961, sec. 2.2], GShard (2) [arXiv:2006.16668]
///  expert_choice   each expert takes its capacity of tokens [arXiv:2202.09368]
///  batch_priority  as top_k_capacity, what exceeds the capacity is what the router rates lowest:
///                  as many rows, so a ratio below 1 is usual [arXiv:2106.05974, sec. 4]
///  node_limited    dropless, a token's experts are on node_limit nodes at most
///                  [arXiv:2412.19437, sec. 2.1.2]
enum class RoutingKind : std::uint8_t {
  dropless,
  top_k_capacity,
  expert_choice,
  batch_priority,
  node_limited
};
std::string_view name_of(RoutingKind kind);

/// How often experts are chosen.
///  uniform    exactly as often as one another
///  zipf       the r-th most popular one with 1 / r^exponent, another order in every layer; 0 is a
///             fair draw
///  histogram  with given shares
///  trace      as recorded
enum class RoutingLoad : std::uint8_t { uniform, zipf, histogram, trace };
std::string_view name_of(RoutingLoad load);

struct RoutingSpec {
  RoutingKind kind = RoutingKind::dropless;
  RoutingLoad load = RoutingLoad::uniform;
  double exponent = 1;  // of zipf, 0 or more
  /// What a balancing loss or bias achieves: shares move this far towards equal ones, 0 to 1.
  double balance = 0;
  /// Rows that an expert takes over the mean; kinds with a capacity need one above 0.
  double capacity_factor = 0;
  /// Share of tokens whose second expert is used: GShard leaves it out at random, by its weight
  /// [arXiv:2006.16668, sec. 2.2]. Only with top_k 2.
  double second_expert = 1;
  /// Groups that a rank's tokens form, each with a capacity of its own
  /// [arXiv:2006.16668, sec. 2.2].
  std::int64_t local_groups = 1;
  int node_limit = 0;  // of node_limited
  std::uint64_t seed = 0;
  /// Shares (histogram) or counts (trace) of every expert: one list for each MoE layer, or one for
  /// all.
  std::vector<std::vector<double>> shares = {};
  /// Of a trace with tokens: their experts, for each layer top_k of every token; else empty.
  std::vector<std::vector<std::int32_t>> routes = {};
  bool operator==(const RoutingSpec&) const = default;
};

/// Whether the kind has a capacity that can drop tokens or fills it.
bool has_capacity(RoutingKind kind);

/// One MoE layer in one micro-batch.
struct RoutingInput {
  std::int64_t experts = 1;  // of the layer
  std::int64_t top_k = 1;    // at most `experts`
  std::int64_t tokens = 0;   // of every source rank
  int sources = 1;           // ranks that route together
  int nodes = 1;             // that hold the experts, equally many each, in order
  int layer = 0;             // among the MoE layers
  std::int64_t micro_batch = 0;
};

struct RoutedLayer {
  std::int64_t experts = 1;
  std::vector<std::int64_t>
      rows;                    // [source, expert]: what the expert computes of the rank's tokens
  std::int64_t capacity = 0;   // rows of one rank's buffer for one expert; 0: none
  std::int64_t routed = 0;     // token-expert pairs that the router chose
  std::int64_t dropped = 0;    // of these; tokens that no expert chose with expert_choice
  double imbalance = 1;        // largest over mean rows of an expert
  double nodes_per_token = 1;  // distinct nodes that a token goes to, its own among them or not

  std::int64_t at(int source, std::int64_t expert) const {
    return rows[static_cast<std::size_t>(source * experts + expert)];
  }
};

/// Draws the layer. `spec` has no problems() with the model.
RoutedLayer route(const RoutingSpec& spec, const RoutingInput& in);

/// Rows of each expert from all sources.
std::vector<std::int64_t> expert_rows(const RoutedLayer& layer);

/// How often a token chooses each expert, in [0, 1]; sums to the experts that it goes to.
std::vector<double> inclusion(const RoutingSpec& spec, const RoutingInput& in);

/// What of `spec` cannot be with `config`: keys relative to the routing, "histogram/3". `nodes`
/// hold the experts; 0: not known yet.
std::vector<ConfigProblem> problems(const RoutingSpec& spec, const ModelConfig& config,
                                    int nodes = 0);

}  // namespace tsim::models
