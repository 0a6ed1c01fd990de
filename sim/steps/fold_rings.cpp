#include "sim/steps/fold_rings.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "cost/programs/expand.hpp"

namespace tsim::sim {
namespace {

using cost::ChannelId;
using cost::Path;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Sets of channels, joined pair by pair.
class Classes {
 public:
  explicit Classes(std::size_t channels) : above_(channels) {
    std::iota(above_.begin(), above_.end(), 0U);
  }
  std::uint32_t of(std::uint32_t c) {
    while (above_[c] != c) { c = above_[c] = above_[above_[c]]; }
    return c;
  }
  void join(std::uint32_t a, std::uint32_t b) { above_[of(a)] = of(b); }

 private:
  std::vector<std::uint32_t> above_;
};

class Folding {
 public:
  Folding(std::span<const int> devices, std::span<const std::vector<int>> orders,
          cost::Router& router)
      : devices_(devices),
        orders_(orders),
        router_(router),
        classes_(router.topology().channels.size()),
        used_(router.topology().channels.size()) {}

  /// Whether the images of every hop match; joins what they cross.
  bool images_match() {
    for (std::size_t i = 0; i < orders_[0].size(); ++i) {
      const Path& first = hop(0, i);
      for (std::size_t r = 0; r < orders_.size(); ++r) {
        if (!joined(first, hop(r, i))) { return false; }
      }
    }
    for (std::uint32_t c = 0; c < used_.size(); ++c) {
      if (used_[c]) { ++size_[classes_.of(c)]; }
    }
    return true;
  }

  /// By hop of the first ring: its path over classes; empty when a class is not loaded evenly.
  std::vector<std::vector<ChannelId>> folded_paths() {
    std::vector<std::vector<ChannelId>> paths;
    for (std::size_t i = 0; i < orders_[0].size(); ++i) {
      std::vector<std::uint32_t> crossed;
      for (std::size_t r = 0; r < orders_.size(); ++r) {
        for (const ChannelId c : hop(r, i).channels) {
          crossed.push_back(static_cast<std::uint32_t>(c));
        }
      }
      auto path = evenly_loaded(std::move(crossed));
      if (path.empty()) { return {}; }
      paths.push_back(std::move(path));
    }
    return paths;
  }

  std::vector<std::uint32_t> class_of() {
    std::vector<std::uint32_t> all(used_.size(), FoldedRings::kNoClass);
    for (std::uint32_t c = 0; c < used_.size(); ++c) {
      if (used_[c]) { all[c] = classes_.of(c); }
    }
    return all;
  }

 private:
  const Path& hop(std::size_t ring, std::size_t i) {
    const std::vector<int>& order = orders_[ring];
    return router_.path(devices_[index(order[i])], devices_[index(order[(i + 1) % order.size()])]);
  }

  bool joined(const Path& a, const Path& b) {
    const auto& channels = router_.topology().channels;
    if (a.channels.size() != b.channels.size() || a.latency != b.latency) { return false; }
    for (std::size_t h = 0; h < a.channels.size(); ++h) {
      const ChannelId c = a.channels[h], d = b.channels[h];
      if (channels[index(c)].bandwidth != channels[index(d)].bandwidth) { return false; }
      classes_.join(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d));
      used_[index(d)] = true;
    }
    return true;
  }

  /// The classes of `crossed`, each as often as every one of its channels occurs there.
  std::vector<ChannelId> evenly_loaded(std::vector<std::uint32_t> crossed) {
    std::ranges::sort(crossed, {}, [&](std::uint32_t c) { return std::pair(classes_.of(c), c); });
    std::vector<ChannelId> path;
    for (auto at = crossed.begin(); at != crossed.end();) {
      const std::uint32_t cls = classes_.of(*at);
      const auto end =
          std::find_if(at, crossed.end(), [&](std::uint32_t c) { return classes_.of(c) != cls; });
      const std::ptrdiff_t times = std::count(at, end, *at);
      // Sorted: all channels occur equally often when each run of one is as long as the first.
      for (auto run = at; run != end; run += times) {
        if (end - run < times || *(run + times - 1) != *run) { return {}; }
        if (run + times != end && *(run + times) == *run) { return {}; }
      }
      if ((end - at) / times != static_cast<std::ptrdiff_t>(size_.at(cls))) { return {}; }
      path.insert(path.end(), static_cast<std::size_t>(times), static_cast<ChannelId>(cls));
      at = end;
    }
    return path;
  }

  std::span<const int> devices_;
  std::span<const std::vector<int>> orders_;
  cost::Router& router_;
  Classes classes_;
  std::vector<bool> used_;                       // by channel
  std::unordered_map<std::uint32_t, int> size_;  // channels of a class
};

}  // namespace

std::optional<FoldedRings> fold_rings(const RingRequest& request,
                                      std::span<const std::vector<int>> orders,
                                      cost::Router& router) {
  if (orders.size() < 2 || orders[0].size() < 2) { return std::nullopt; }
  Folding folding(request.devices, orders, router);
  if (!folding.images_match()) { return std::nullopt; }
  std::vector<std::vector<ChannelId>> paths = folding.folded_paths();
  if (paths.empty()) { return std::nullopt; }
  const auto program = cost::ring_program(request.op, orders.first(1));
  cost::StepCosts costs = request.costs;
  costs.share *= static_cast<double>(orders.size());  // a ring's part of the payload
  FoldedRings folded;
  folded.comm = step_comm(program, request.devices, request.payload, costs, router);
  // A ring's first round goes over its hops in turn, which numbers its connections.
  for (std::size_t i = 0; i < paths.size(); ++i) {
    folded.comm.connections[i].path = std::move(paths[i]);
  }
  folded.classes = router.topology().channels;  // a class is called by one of its channels
  folded.class_of = folding.class_of();
  return folded;
}

}  // namespace tsim::sim
