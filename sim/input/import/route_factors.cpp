#include "sim/input/import/route_factors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tsim::sim {
namespace {

using Links = std::vector<int>;
using RouteOf = std::function<ListedRoute(int, int)>;

constexpr int kMostPlaces = 512;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::size_t common_front(const Links& a, const Links& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t common_back(const Links& a, const Links& b) {
  const Links ra(a.rbegin(), a.rend()), rb(b.rbegin(), b.rend());
  return common_front(ra, rb);
}

Links part(const Links& links, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return links.begin() + static_cast<std::ptrdiff_t>(i); };
  return {at(from), at(std::max(from, to))};
}

bool begins(const Links& links, const Links& front) {
  return common_front(links, front) == front.size();
}

bool ends(const Links& links, const Links& back) { return common_back(links, back) == back.size(); }

Links joined(Links a, const Links& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class Factors {
 public:
  Factors(int hosts, const RouteOf& route) : hosts_(hosts), route_(route) {
    result_.up.resize(index(hosts));
    result_.down.resize(index(hosts));
    result_.place.assign(index(hosts), -1);
  }

  /// Hosts of one zone as one place, if their routes are of that form.
  bool share(const std::vector<int>& hosts) {
    const int a = hosts[0], b = hosts[1], c = hosts[2];
    const Links ab = route_(a, b).links, ac = route_(a, c).links, cb = route_(c, b).links;
    const Links ba = route_(b, a).links, bc = route_(b, c).links;
    const std::size_t before_b = common_front(ab, ac), after_a = common_back(ab, cb);
    if (before_b + after_a < ab.size()) { return false; }
    const Links middle = part(ab, ab.size() - after_a, before_b);
    const Links to_b = part(ab, before_b, ab.size());
    const Links to_a = part(ba, common_front(ba, bc), ba.size());
    const Links from_a = part(ab, 0, ab.size() - after_a);
    const Links from_b = part(ba, 0, ba.size() - std::min(ba.size(), middle.size() + to_a.size()));
    for (const int host : hosts) {
      const int other = host == b ? a : b;
      const Links tail = joined(middle, other == b ? to_b : to_a);
      const Links head = joined(other == b ? from_b : from_a, middle);
      const Links out = route_(host, other).links, in = route_(other, host).links;
      if (!ends(out, tail) || !begins(in, head)) { return false; }
      result_.up[index(host)] = part(out, 0, out.size() - tail.size());
      result_.down[index(host)] = part(in, head.size(), in.size());
    }
    const int place = new_place(hosts[0]);
    for (const int host : hosts) { result_.place[index(host)] = place; }
    result_.between[{place, place}] = {middle, Seconds{route_(a, b).latency}};
    return true;
  }

  void stand_alone(int host) {
    result_.up[index(host)].clear();
    result_.down[index(host)].clear();
    result_.place[index(host)] = new_place(host);
  }

  int places() const { return static_cast<int>(first_.size()); }

  /// Ways between places, by the routes of one host of each.
  bool connect() {
    for (int p = 0; p < places(); ++p) {
      for (int q = 0; q < places(); ++q) {
        if (p == q) { continue; }
        const int from = first_[index(p)], to = first_[index(q)];
        const ListedRoute route = route_(from, to);
        const Links &up = result_.up[index(from)], &down = result_.down[index(to)];
        const bool fits = route.links.size() >= up.size() + down.size() &&
                          begins(route.links, up) && ends(route.links, down);
        if (!fits) { return false; }
        result_.between[{p, q}] = {part(route.links, up.size(), route.links.size() - down.size()),
                                   Seconds{route.latency}};
      }
    }
    return true;
  }

  bool same(int from, int to) const {
    const ListedRoute route = route_(from, to);
    const auto& way = result_.between.at({result_.place[index(from)], result_.place[index(to)]});
    const Links links = joined(joined(result_.up[index(from)], way.links), result_.down[index(to)]);
    return links == route.links && std::abs(way.latency.value - route.latency) <= 1e-12;
  }

  /// All pairs where they are few, else samples.
  bool holds() const {
    if (hosts_ <= kMostPlaces) {
      for (int from = 0; from < hosts_; ++from) {
        for (int to = 0; to < hosts_; ++to) {
          if (from != to && !same(from, to)) { return false; }
        }
      }
      return true;
    }
    constexpr int kSamples = 4096;
    std::uint64_t state = 1;
    const auto next = [&] {  // [Knuth, MMIX]
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(hosts_));
    };
    for (int i = 0; i < kSamples; ++i) {
      const int from = next(), to = next();
      if (from != to && !same(from, to)) { return false; }
    }
    return true;
  }

  cost::FixedRoutes result() && { return std::move(result_); }

 private:
  int new_place(int host) {
    first_.push_back(host);
    return places() - 1;
  }

  int hosts_;
  const RouteOf& route_;
  cost::FixedRoutes result_;
  std::vector<int> first_;  // by place: a host of it
};

/// Zones as places where their routes are of that form, and their hosts alone where not.
std::optional<cost::FixedRoutes> by_zone(const HostZones& zones, const RouteOf& route) {
  const int hosts = static_cast<int>(zones.zone.size());
  std::map<int, std::vector<int>> of_zone;
  for (int host = 0; host < hosts; ++host) { of_zone[zones.zone[index(host)]].push_back(host); }
  Factors factors(hosts, route);
  for (const auto& [zone, members] : of_zone) {
    if (members.size() >= 3 && factors.share(members)) { continue; }
    for (const int host : members) { factors.stand_alone(host); }
    if (factors.places() > kMostPlaces) { return std::nullopt; }
  }
  if (!factors.connect() || !factors.holds()) { return std::nullopt; }
  return std::move(factors).result();
}

/// Every host as a place of its own.
std::optional<cost::FixedRoutes> by_host(int hosts, const RouteOf& route) {
  Factors factors(hosts, route);
  for (int host = 0; host < hosts; ++host) { factors.stand_alone(host); }
  if (!factors.connect()) { return std::nullopt; }
  return std::move(factors).result();
}

}  // namespace

std::optional<cost::FixedRoutes> factored(const HostZones& zones, const RouteOf& route) {
  const int hosts = static_cast<int>(zones.zone.size());
  const bool few = hosts <= kMostPlaces;
  if (few || zones.star) {
    std::optional<cost::FixedRoutes> routes = by_zone(zones, route);
    if (routes) { return routes; }
  }
  if (!few) { return std::nullopt; }
  return by_host(hosts, route);
}

}  // namespace tsim::sim
