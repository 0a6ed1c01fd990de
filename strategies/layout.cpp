#include "strategies/layout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>
#include <string>

namespace tsim::strategies {

Layout::Layout(const Strategy& strategy)
    : tensor_(strategy.tensor),
      data_(strategy.data),
      stages_(strategy.pipeline),
      stage_places_(strategy.stage_places) {
  assert(is_rank_order(strategy.order));
  int stride = 1;
  for (std::size_t at = 0; at < strategy.order.size(); at += 3) {
    const std::string_view kind = std::string_view(strategy.order).substr(at, 2);
    if (kind == "tp") {
      tensor_stride_ = stride;
      stride *= tensor_;
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
  return place.tensor * tensor_stride_ + place.data * data_stride_ + stage * stage_stride_;
}

std::vector<int> Layout::tensor_group(int data, int stage) const {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(tensor_));
  for (int t = 0; t < tensor_; ++t) { ranks.push_back(rank({t, data, stage})); }
  return ranks;
}

std::vector<int> Layout::data_group(int tensor, int stage) const {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(data_));
  for (int d = 0; d < data_; ++d) { ranks.push_back(rank({tensor, d, stage})); }
  return ranks;
}

std::vector<std::vector<int>> kinds_of_stages(const Layout& layout,
                                              std::span<const std::int32_t> kind_of_device) {
  std::vector<std::vector<int>> kinds(static_cast<std::size_t>(layout.stages()));
  for (int stage = 0; stage < layout.stages(); ++stage) {
    std::set<int> here;
    for (int data = 0; data < layout.data(); ++data) {
      for (const int rank : layout.tensor_group(data, stage)) {
        here.insert(kind_of_device[static_cast<std::size_t>(rank)]);
      }
    }
    kinds[static_cast<std::size_t>(stage)].assign(here.begin(), here.end());
  }
  return kinds;
}

bool is_rank_order(std::string_view order) {
  if (order.size() != 8 || order[2] != '-' || order[5] != '-') { return false; }
  std::array<std::string_view, 3> parts{order.substr(0, 2), order.substr(3, 2), order.substr(6, 2)};
  std::sort(parts.begin(), parts.end());
  return parts == std::array<std::string_view, 3>{"dp", "pp", "tp"};
}

}  // namespace tsim::strategies
