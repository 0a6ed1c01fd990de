// Which global rank is which part of the layout, and which ranks form a group.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strategies/rank_group.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// A rank's place: its index in each kind of group. A replica is one context rank of one data rank:
/// replica = c data + context.
struct Place {
  int tensor = 0, replica = 0, stage = 0;
  bool operator==(const Place&) const = default;
};

/// Numbering of ranks by `order`, innermost kind first: with "tp-cp-dp-pp"
/// rank = tp + t (cp + c (dp + d pp)).
class Layout {
 public:
  explicit Layout(const Strategy& strategy);
  int rank(const Place& place) const;
  int tensor() const { return tensor_; }
  int replicas() const { return data_ * context_; }
  int stages() const { return stages_; }
  std::vector<int> tensor_group(int replica, int stage) const;
  std::vector<int> replica_group(int tensor, int stage) const;
  /// Ranks of group `number` along the axis of `group`, at `place` otherwise. A group of the plane
  /// is told by the numbers of its groups along both axes, in `place`.
  std::vector<int> ranks(const RankGroup& group, int number, Place place) const;

 private:
  std::vector<int> plane_ranks(const RankGroup& group, const Place& place) const;
  int tensor_, context_, data_, stages_;
  int tensor_stride_ = 1, context_stride_ = 1, data_stride_ = 1, stage_stride_ = 1;
  std::vector<int> stage_places_;  // by stage; empty: its own
};

/// By stage: the kinds of the devices (by rank) that its ranks sit on, each once.
std::vector<std::vector<int>> kinds_of_stages(const Layout& layout,
                                              std::span<const std::int32_t> kind_of_device);

/// Whether `order` names tp, dp and pp, and perhaps cp, once each, joined by '-'. Context ranks
/// that it does not name are right outside the tensor ranks.
bool is_rank_order(std::string_view order);

}  // namespace tsim::strategies
