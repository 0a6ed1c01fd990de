#include "strategies/rank_group.hpp"

namespace tsim::strategies {

std::vector<int> members(const RankGroup& g, int number) {
  const int first = number / g.stride * g.stride * g.size + number % g.stride;
  std::vector<int> indices;
  indices.reserve(static_cast<std::size_t>(g.size));
  for (int i = 0; i < g.size; ++i) { indices.push_back(first + i * g.stride); }
  return indices;
}

}  // namespace tsim::strategies
