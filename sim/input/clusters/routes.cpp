#include "sim/input/clusters/routes.hpp"

#include <algorithm>

#include "sim/input/clusters/write_parts.hpp"

namespace tsim::sim {
namespace {

constexpr std::int64_t kMostPlaces = 512;

class RoutesReader {
 public:
  explicit RoutesReader(const cost::Topology& topology) : t_(topology) {}

  cost::FixedRoutes read(const Place& place) {
    Reader in(place);
    const Place devices = in.take("devices");
    const std::vector<Place> entries = read_entries(devices);
    for (const Place& entry : entries) { read_device(entry); }
    if (entries.size() != t_.devices.size()) {
      devices.fail(std::to_string(entries.size()) + " entries",
                   "one for each of the " + std::to_string(t_.devices.size()) + " devices");
    }
    for (const Place& entry : read_entries(in.take("between"))) { read_way(entry); }
    in.finish();
    return std::move(routes_);
  }

 private:
  /// The parts of a list that must have `least` to `most` of them; none, and a problem, when not.
  static std::vector<Place> parts(const Place& place, std::size_t least, std::size_t most) {
    std::vector<Place> found = read_entries(place);
    if (found.size() >= least && found.size() <= most) { return found; }
    place.fail(place.found(), "a list of " + std::to_string(least) + " parts");
    return {};
  }

  void read_device(const Place& place) {
    const std::vector<Place> entry = parts(place, 3, 3);
    if (entry.empty()) { return; }
    routes_.place.push_back(read_place(entry[0]));
    routes_.up.push_back(read_links(entry[1]));
    routes_.down.push_back(read_links(entry[2]));
  }

  static std::int32_t read_place(const Place& place) {
    return static_cast<std::int32_t>(read_count(place, {0, kMostPlaces - 1}));
  }

  std::vector<std::int32_t> read_links(const Place& place) const {
    std::vector<std::int32_t> links;
    const auto last = static_cast<std::int64_t>(t_.links.size()) - 1;
    for (const Place& number : read_entries(place)) {
      const std::int64_t i = read_count(number, {0, std::max<std::int64_t>(last, 0)});
      links.push_back(static_cast<std::int32_t>(i));
      if (i <= last && t_.links[static_cast<std::size_t>(i)].full_duplex) {
        number.fail("link " + std::to_string(i) + ", which is full duplex",
                    "a half-duplex one, since a route does not say in which direction it goes");
      }
    }
    return links;
  }

  void read_way(const Place& place) {
    const std::vector<Place> entry = parts(place, 3, 4);
    if (entry.empty()) { return; }
    cost::FixedRoutes::Way way{read_links(entry[2]), {}};
    if (entry.size() == 4) { way.latency = {read_quantity(entry[3], Dimension::time, {}, true)}; }
    const std::pair places{read_place(entry[0]), read_place(entry[1])};
    if (!routes_.between.emplace(places, std::move(way)).second) {
      place.fail("a second way between the same places", "one each");
    }
  }

  const cost::Topology& t_;
  cost::FixedRoutes routes_;
};

}  // namespace

cost::FixedRoutes read_routes(const Place& place, const cost::Topology& topology) {
  return place.present() ? RoutesReader(topology).read(place) : cost::FixedRoutes{};
}

Json to_json(const cost::FixedRoutes& routes) {
  Json devices = Json::array(), between = Json::array();
  for (std::size_t i = 0; i < routes.place.size(); ++i) {
    devices.push_back({routes.place[i], routes.up[i], routes.down[i]});
  }
  for (const auto& [places, way] : routes.between) {
    Json entry{places.first, places.second, way.links};
    if (way.latency.value != 0) {
      entry.push_back(quantity_text(way.latency.value, Dimension::time));
    }
    between.push_back(std::move(entry));
  }
  return {{"devices", std::move(devices)}, {"between", std::move(between)}};
}

}  // namespace tsim::sim
