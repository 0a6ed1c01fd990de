#include "strategies/tensor/statistics.hpp"

#include <algorithm>

namespace tsim::strategies {

using models::OpKind;

RowStatistics forward_statistics(OpKind kind) {
  switch (kind) {
    case OpKind::layer_norm: return {1, 2};
    case OpKind::rms_norm: return {1, 1};
    case OpKind::softmax: return {2, 1};
    case OpKind::cross_entropy: return {3, 1};
    default: return {};
  }
}

RowStatistics backward_statistics(OpKind kind) {
  if (kind == OpKind::cross_entropy) { return {}; }
  return {1, kind == OpKind::layer_norm ? 2 : 1};
}

void add_shared(std::vector<SharedGradients>& shared, const RankRun& ranks, std::int64_t elements) {
  if (ranks.size == 1 || elements == 0) { return; }
  const auto known = std::find_if(shared.begin(), shared.end(),
                                  [&](const SharedGradients& s) { return s.ranks == ranks; });
  if (known == shared.end()) {
    shared.push_back({ranks, elements});
  } else {
    known->elements += elements;
  }
}

}  // namespace tsim::strategies
