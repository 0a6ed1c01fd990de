#include "strategies/experts.hpp"

#include <array>

#include "strategies/strategy.hpp"

namespace tsim::strategies {

std::string_view name_of(Dispatch dispatch) {
  constexpr std::array<std::string_view, 5> kNames{"direct", "hierarchical", "two_level", "rails",
                                                   "all_gather"};
  return kNames[static_cast<std::size_t>(dispatch)];
}

int expert_tensor(const Strategy& s) { return s.experts.tensor > 0 ? s.experts.tensor : s.tensor; }

std::int64_t plane_size(const Strategy& s) { return std::int64_t{s.tensor} * s.data * s.context; }

int expert_replicas(const Strategy& s) {
  return static_cast<int>(plane_size(s) / (std::int64_t{expert_tensor(s)} * s.experts.ranks));
}

bool spreads_experts(const Strategy& s) {
  return s.experts.ranks > 1 || expert_tensor(s) != s.tensor;
}

bool cuts_tokens(const Strategy& s) { return s.sequence_parallel || expert_tensor(s) != s.tensor; }

}  // namespace tsim::strategies
