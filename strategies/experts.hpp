// How the experts of a mixture-of-experts model are spread over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/dtype.hpp"
#include "models/routing/routing.hpp"
#include "models/units.hpp"

namespace tsim::strategies {

struct Strategy;

/// How tokens get to the ranks of their experts and back.
///  direct        one message to each rank of the group [arXiv:2006.16668, sec. 3.2]
///  hierarchical  inside each node first, then between nodes, larger messages [arXiv:2201.05596,
///                sec. 5.2]
///  two_level     the same after messages to one node have been brought together [arXiv:2206.03382,
///                sec. 3.4: 2DH]
///  rails         a token goes once to each node that has experts of it, along its rail, and from
///                there to them [arXiv:2412.19437, sec. 3.2.2]
///  all_gather    every rank gets all tokens, and results are added up where they came from
enum class Dispatch : std::uint8_t { direct, hierarchical, two_level, rails, all_gather };
std::string_view name_of(Dispatch dispatch);

/// Whether popular experts come to the tokens in place of tokens to them, and the rates by which
/// the rule judges [He et al., FasterMoE, PPoPP 2022, sec. 4.1].
struct Shadowing {
  bool on = false;
  BytesPerSecond network;  // of one rank
  FlopsPerSecond compute;
  bool operator==(const Shadowing&) const = default;
};

struct ExpertParallel {
  int ranks = 1;   // ep: ranks that have different experts
  int tensor = 0;  // etp: ranks that split each expert; 0: t, as other parts of a layer
  Dispatch dispatch = Dispatch::direct;
  std::optional<models::DType> dispatch_format{};  // of tokens on their way; none: as computed
  std::optional<models::DType> combine_format{};   // of results on their way back
  int chunks = 1;             // parts of the tokens, dispatched while others are computed
  bool scales_early = false;  // results are scaled by their probabilities before the second product
  Shadowing shadowing{};
  models::RoutingSpec routing{};
  // of the model, for how many copies of a token travel: experts of a layer and of a token
  int experts = 1, chosen = 1;
  int nodes = 1;  // of the cluster, that the ranks of a group with all experts lie on
  bool operator==(const ExpertParallel&) const = default;
};

/// Rows of each expert's buffer over its mean load; 0: as many as come.
double capacity_factor(const ExpertParallel& experts);
/// Whether experts get different numbers of rows, so that ranks with different ones are told apart.
/// Buffers of a capacity are computed whole.
bool is_unbalanced(const ExpertParallel& experts);

/// Ranks that split an expert.
int expert_tensor(const Strategy& strategy);
/// Ranks of one stage: t c d.
std::int64_t plane_size(const Strategy& strategy);
/// Ranks that hold copies of the same part of the same experts: t c d / (etp ep).
int expert_replicas(const Strategy& strategy);
/// Whether experts are spread otherwise than the rest of a layer is.
bool spreads_experts(const Strategy& strategy);
/// Whether each tensor rank sends a part of the tokens that all of them have: where experts are not
/// split as the rest of the layer is, or sequence parallelism has cut the tokens already.
bool cuts_tokens(const Strategy& strategy);

}  // namespace tsim::strategies
