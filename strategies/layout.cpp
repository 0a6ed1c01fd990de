#include "strategies/layout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>
#include <string>

namespace tsim::strategies {
namespace {

std::vector<std::string_view> kinds_in(std::string_view order) {
  std::vector<std::string_view> kinds;
  for (std::size_t from = 0; from <= order.size();) {
    const std::size_t dash = std::min(order.find('-', from), order.size());
    kinds.push_back(order.substr(from, dash - from));
    from = dash + 1;
  }
  return kinds;
}

}  // namespace

Layout::Layout(const Strategy& strategy)
    : tensor_(strategy.tensor),
      context_(strategy.context),
      data_(strategy.data),
      stages_(strategy.pipeline),
      stage_places_(strategy.stage_places) {
  assert(is_rank_order(strategy.order));
  std::vector<std::string_view> kinds = kinds_in(strategy.order);
  if (std::find(kinds.begin(), kinds.end(), "cp") == kinds.end()) {
    kinds.insert(std::find(kinds.begin(), kinds.end(), "tp") + 1, "cp");
  }
  int stride = 1;
  for (const std::string_view kind : kinds) {
    if (kind == "tp") {
      tensor_stride_ = stride;
      stride *= tensor_;
    } else if (kind == "cp") {
      context_stride_ = stride;
      stride *= context_;
    } else if (kind == "dp") {
      data_stride_ = stride;
      stride *= data_;
    } else {
      stage_stride_ = stride;
      stride *= stages_;
    }
  }
}

int Layout::rank(const Place& place) const {
  const int stage =
      stage_places_.empty() ? place.stage : stage_places_[static_cast<std::size_t>(place.stage)];
  return place.tensor * tensor_stride_ + place.replica % context_ * context_stride_ +
         place.replica / context_ * data_stride_ + stage * stage_stride_;
}

std::vector<int> Layout::tensor_group(int replica, int stage) const {
  return ranks({GroupAxis::tensor, tensor_}, 0, {0, replica, stage});
}

std::vector<int> Layout::replica_group(int tensor, int stage) const {
  return ranks({GroupAxis::replica, replicas()}, 0, {tensor, 0, stage});
}

std::vector<int> Layout::plane_ranks(const RankGroup& group, const Place& place) const {
  const PlaneGroup axes = on_axes(group, tensor_);
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(group.size));
  for (const int replica : members(axes.replica, place.replica)) {
    for (const int tensor : members(axes.tensor, place.tensor)) {
      ranks.push_back(rank({tensor, replica, place.stage}));
    }
  }
  return ranks;
}

std::vector<int> Layout::ranks(const RankGroup& group, int number, Place place) const {
  if (group.axis == GroupAxis::plane) { return plane_ranks(group, place); }
  if (group.axis != GroupAxis::tensor && group.axis != GroupAxis::replica) { return {rank(place)}; }
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(group.size));
  for (const int member : members(group, number)) {
    (group.axis == GroupAxis::tensor ? place.tensor : place.replica) = member;
    ranks.push_back(rank(place));
  }
  return ranks;
}

std::vector<std::vector<int>> kinds_of_stages(const Layout& layout,
                                              std::span<const std::int32_t> kind_of_device) {
  std::vector<std::vector<int>> kinds(static_cast<std::size_t>(layout.stages()));
  for (int stage = 0; stage < layout.stages(); ++stage) {
    std::set<int> here;
    for (int replica = 0; replica < layout.replicas(); ++replica) {
      for (const int rank : layout.tensor_group(replica, stage)) {
        here.insert(kind_of_device[static_cast<std::size_t>(rank)]);
      }
    }
    kinds[static_cast<std::size_t>(stage)].assign(here.begin(), here.end());
  }
  return kinds;
}

bool is_rank_order(std::string_view order) {
  std::vector<std::string_view> kinds = kinds_in(order);
  std::erase(kinds, "cp");
  std::sort(kinds.begin(), kinds.end());
  const bool one_context = order.find("cp") == order.rfind("cp");
  return one_context && kinds == std::vector<std::string_view>{"dp", "pp", "tp"};
}

}  // namespace tsim::strategies
