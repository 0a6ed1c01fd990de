#include "strategies/rank_group.hpp"

#include <algorithm>
#include <numeric>

namespace tsim::strategies {

std::vector<int> members(const RankGroup& g, int number) {
  const int first = number / g.stride * g.stride * g.size + number % g.stride;
  std::vector<int> indices;
  indices.reserve(static_cast<std::size_t>(g.size));
  for (int i = 0; i < g.size; ++i) { indices.push_back(first + i * g.stride); }
  return indices;
}

PlaneGroup on_axes(const RankGroup& plane, int tensor) {
  const int inside = std::gcd(plane.stride, tensor);  // its tensor ranks are so far apart
  const int tensors = std::min(tensor / inside, plane.size);
  return {
      .tensor = {GroupAxis::tensor, tensors, inside},
      .replica = {GroupAxis::replica, plane.size / tensors, std::max(1, plane.stride / tensor)}};
}

}  // namespace tsim::strategies
