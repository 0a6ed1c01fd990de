#include "cost/routing/exchange_loads.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "cost/routing/route_finder.hpp"
#include "cost/routing/torus_route.hpp"

namespace tsim::cost {
namespace {

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

class Sum {
 public:
  Sum(std::span<const int> devices, std::span<const double> sent, Router& router)
      : devices_(devices), sent_(sent), router_(router), finder_(router.topology()) {
    const Topology& t = router.topology();
    loads_.bytes.assign(t.channels.size(), 0.0);
    nodes_.reserve(devices.size());
    for (const int device : devices) { nodes_.push_back(node_of(t, device)); }
  }

  ExchangeLoads run() && {
    const bool in_parts = find_exits();
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) {
        const double bytes = at(i, j);
        if (i == j || bytes <= 0) { continue; }
        if (!in_parts || nodes_[i] == nodes_[j]) { add_path(i, j, bytes); }
      }
    }
    if (in_parts) { add_between(); }
    return std::move(loads_);
  }

 private:
  /// Messages of all devices that leave by one outer vertex for one device, and which of them has
  /// the longest way there.
  struct Bundle {
    double bytes = 0;
    std::size_t farthest = 0;
  };

  std::size_t count() const { return devices_.size(); }
  double at(std::size_t i, std::size_t j) const { return sent_[i * count() + j]; }

  void note(bool inside, Seconds latency) {
    (inside ? loads_.any_inside : loads_.any_between) = true;
    Seconds& longest = inside ? loads_.inside : loads_.between;
    longest = std::max(longest, latency);
  }

  void add(const Route& route, double bytes) {
    for (const ChannelId c : finder_.channels_of(route)) { loads_.bytes[index(c)] += bytes; }
  }

  void add_path(std::size_t i, std::size_t j, double bytes) {
    const Path& path = router_.path(devices_[i], devices_[j]);
    for (const ChannelId c : path.channels) { loads_.bytes[index(c)] += bytes; }
    note(nodes_[i] == nodes_[j], path.latency);
  }

  /// Whether every device has one way out of its node, so that paths fall into parts. Of small
  /// groups Router remembers all paths.
  bool find_exits() {
    constexpr std::size_t kSmall = 256;
    if (count() <= kSmall && !is_torus_cluster()) { return false; }
    if (!router_.topology().routes.place.empty()) { return false; }
    std::map<VertexId, std::size_t> known;
    for (const int device : devices_) {
      const auto& exits = finder_.exits_of(device);
      if (exits.size() != 1) { return false; }
      exits_.push_back(&exits.front());
      out_.push_back(finder_.channels_of(exits.front().route));
      const VertexId gateway = exits.front().gateway;
      const auto [entry, fresh] = known.try_emplace(gateway, gateways_.size());
      if (fresh) { gateways_.push_back(gateway); }
      gateway_of_.push_back(entry->second);
    }
    return true;
  }

  bool is_torus_cluster() const { return !router_.topology().torus.sizes.empty(); }

  bool is_torus() const {
    const TorusRouters& torus = router_.topology().torus;
    return std::ranges::all_of(gateways_, [&](VertexId v) { return is_torus_router(torus, v); });
  }

  void add_between() {
    std::vector<Bundle> bundles(gateways_.size() * count());  // by outer vertex and receiver
    for (std::size_t i = 0; i < count(); ++i) {
      double out = 0;
      for (std::size_t j = 0; j < count(); ++j) {
        const double bytes = at(i, j);
        if (nodes_[i] == nodes_[j] || bytes <= 0) { continue; }
        out += bytes;
        Bundle& bundle = bundles[gateway_of_[i] * count() + j];
        const Seconds before = exits_[bundle.farthest]->route.latency;
        if (bundle.bytes == 0 || exits_[i]->route.latency > before) { bundle.farthest = i; }
        bundle.bytes += bytes;
      }
      for (const ChannelId c : out_[i]) { loads_.bytes[index(c)] += out; }
    }
    is_torus() ? add_torus(bundles) : add_rest(bundles);
  }

  /// The way on from each outer vertex, which all that leave there share.
  void add_rest(const std::vector<Bundle>& bundles) {
    for (std::size_t b = 0; b < bundles.size(); ++b) {
      const Bundle& bundle = bundles[b];
      if (bundle.bytes <= 0) { continue; }
      const Path& path = router_.path(devices_[bundle.farthest], devices_[b % count()]);
      const auto passed = static_cast<std::ptrdiff_t>(out_[bundle.farthest].size());
      for (auto c = path.channels.begin() + passed; c != path.channels.end(); ++c) {
        loads_.bytes[index(*c)] += bundle.bytes;
      }
      note(false, path.latency);
    }
  }

  void add_torus(const std::vector<Bundle>& bundles) {
    const Topology& t = router_.topology();
    std::size_t routers = 1;
    for (const int size : t.torus.sizes) { routers *= index(size); }
    const auto place = [&](VertexId v) { return index(v - t.torus.first); };
    std::vector<double> sent(routers * routers, 0.0);
    std::vector<double> arrived(count(), 0.0);
    for (std::size_t g = 0; g < gateways_.size(); ++g) {
      for (std::size_t j = 0; j < count(); ++j) {
        const Bundle& bundle = bundles[g * count() + j];
        if (bundle.bytes <= 0) { continue; }
        sent[place(gateways_[g]) * routers + place(exits_[j]->gateway)] += bundle.bytes;
        const Seconds out = exits_[bundle.farthest]->route.latency;
        const Seconds in = exits_[j]->route.latency;
        note(false, out + torus_latency(gateways_[g], exits_[j]->gateway) + in);
        arrived[j] += bundle.bytes;
      }
    }
    for (std::size_t j = 0; j < count(); ++j) {
      if (arrived[j] > 0) { add(finder_.graph().reversed(exits_[j]->route), arrived[j]); }
    }
    add_torus_loads(t, finder_.graph(), std::move(sent), loads_.bytes);
  }

  /// All links of a torus are alike: one crossing's latency for each hop.
  Seconds torus_latency(VertexId from, VertexId to) {
    const Topology& t = router_.topology();
    int stride = 1;
    int hops = 0;
    for (const int size : t.torus.sizes) {
      const int apart =
          std::abs((from - t.torus.first) / stride % size - (to - t.torus.first) / stride % size);
      hops += std::min(apart, size - apart);
      stride *= size;
    }
    if (hops == 0) { return {}; }
    if (!torus_hop_) {
      const auto& torus = t.torus;
      const VertexId neighbour = torus.first + 1;
      torus_hop_ = torus_route(t, finder_.graph(), torus.first, neighbour).latency;
    }
    return static_cast<double>(hops) * *torus_hop_;
  }

  std::span<const int> devices_;
  std::span<const double> sent_;
  Router& router_;
  RouteFinder finder_;
  std::vector<std::int32_t> nodes_;              // by device of the group
  std::vector<const RouteFinder::Exit*> exits_;  // the same
  std::vector<std::vector<ChannelId>> out_;      // the same: its channels
  std::vector<std::size_t> gateway_of_;          // the same: its outer vertex in
  std::vector<VertexId> gateways_;
  std::optional<Seconds> torus_hop_;
  ExchangeLoads loads_;
};

}  // namespace

ExchangeLoads exchange_loads(std::span<const int> devices, std::span<const double> sent,
                             Router& router) {
  return Sum(devices, sent, router).run();
}

}  // namespace tsim::cost
