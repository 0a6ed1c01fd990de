// Which ranks communicate: evenly spaced ones along one axis of the layout, or one with its host.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "cost/collectives.hpp"
#include "models/units.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// Along which axis ranks differ: within a replica, between replicas (context ranks are replicas,
/// too: they hold the same parameters), a rank and its host's memory or drives (by way of its
/// memory), that memory and the drives, or ranks of two stages. plane: all ranks of a stage, tensor
/// ranks counted first, then context and data ranks; experts are spread over them.
enum class GroupAxis : std::uint8_t {
  tensor,
  replica,
  host_memory,
  drive,
  host_drive,
  peer,
  plane
};

/// Whether one rank alone copies.
constexpr bool is_copy(GroupAxis axis) {
  return axis == GroupAxis::host_memory || axis == GroupAxis::drive ||
         axis == GroupAxis::host_drive;
}

/// Groups of `size` indices, `stride` apart: with stride 2 and size 3 {0, 2, 4}, {1, 3, 5}, {6, ...
struct RankGroup {
  GroupAxis axis{};
  int size = 1;
  int stride = 1;
  auto operator<=>(const RankGroup&) const = default;
};

/// The number of the group that `index` belongs to, counted along the axis.
constexpr int group_of(const RankGroup& g, int index) {
  return index / (g.stride * g.size) * g.stride + index % g.stride;
}
/// Groups along an axis of `length` indices, a multiple of stride x size.
constexpr int group_count(const RankGroup& g, int length) { return length / g.size; }
/// Indices of group `number` in ascending order.
std::vector<int> members(const RankGroup& g, int number);

/// A group of the plane as one along each axis: its members are all pairs of theirs.
struct PlaneGroup {
  RankGroup tensor, replica;
};
/// `tensor`: ranks of the tensor group, t. The group's size and stride are multiples or divisors of
/// it so that every group is such a product: stride x size and t, and stride and t, divide one way
/// or the other.
PlaneGroup on_axes(const RankGroup& plane, int tensor);

/// A collective over a group, or a copy to or from the host (`stream` says which way).
struct Communication {
  cost::CollectiveOp op{};
  RankGroup group;
  Stream stream{};
  Bytes size;     // the whole buffer, or what one rank copies
  int layer = 0;  // of an exchange between experts' ranks whose messages differ: to the experts of
                  // MoE layer n - 1 when n, from there when -n
  int root = 0;   // of a rooted collective: the root's place in the group
  bool operator==(const Communication&) const = default;
};

}  // namespace tsim::strategies
