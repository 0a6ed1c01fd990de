#include "cost/synthesis/ways.hpp"

#include <algorithm>

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

const Path* path_or_none(int from, int to, Router& router) {
  try {
    return &router.path(from, to);
  } catch (const Unreachable&) { return nullptr; }
}

}  // namespace

Ways::Ways(std::span<const int> devices, std::span<const std::pair<int, int>> allowed,
           const Regime& regime, Router& router)
    : ranks_(static_cast<int>(devices.size())), ways_(devices.size() * devices.size()) {
  const Topology& t = router.topology();
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      const bool wanted =
          allowed.empty() || std::ranges::find(allowed, std::pair{from, to}) != allowed.end();
      if (from == to || !wanted) { continue; }
      const int a = devices[index(from)], b = devices[index(to)];
      const Path* path = path_or_none(a, b, router);
      if (path == nullptr) { continue; }
      const bool inside = node_of(t, a) == node_of(t, b);
      way(from, to).latency = (path->latency + (inside ? regime.step : regime.network_step)).value;
      open_way(way(from, to), *path, regime.share, t);
    }
  }
}

void Ways::open_way(Way& way, const Path& path, double share, const Topology& topology) {
  way.open = true;
  for (const ChannelId c : path.channels) {
    const auto known = std::ranges::find(channels_, c);
    const auto number = static_cast<int>(known - channels_.begin());
    if (known == channels_.end()) {
      channels_.push_back(c);
      paces_.push_back(1 / (topology.channels[index(c)].bandwidth.value * share));
    }
    way.channels.push_back(number);
    way.pace = std::max(way.pace, paces_[index(number)]);
  }
}

Ways Ways::reversed() const {
  Ways turned = *this;
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) { turned.way(to, from) = way(from, to); }
  }
  return turned;
}

int Ways::reached_from_first() const {
  std::vector<int> reached{0};
  std::vector<bool> seen(index(ranks_), false);
  seen[0] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (int to = 0; to < ranks_; ++to) {
      if (seen[index(to)] || !open(reached[i], to)) { continue; }
      seen[index(to)] = true;
      reached.push_back(to);
    }
  }
  return static_cast<int>(reached.size());
}

bool Ways::connected() const {
  return reached_from_first() == ranks_ && reversed().reached_from_first() == ranks_;
}

}  // namespace tsim::cost::synthesis
