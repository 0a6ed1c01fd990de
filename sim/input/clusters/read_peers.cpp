#include "sim/input/clusters/read_peers.hpp"

#include <array>
#include <set>

#include "sim/input/clusters/read_link.hpp"

namespace tsim::sim {
namespace {

using cost::LinkKind;
using cost::LinkSpec;
using cost::NodeDesign;

constexpr std::array<std::string_view, 4> kPatterns{"all", "groups", "neighbours", "cube_mesh"};
constexpr int kMostAllToAll = 64;  // links grow with the square
constexpr std::int64_t kMostLanes = 1024;

int count(const auto& list) { return static_cast<int>(list.size()); }

void read_nvswitch(Reader in, NodeDesign& node) {
  const Place planes = in.take("planes");
  for (const Place& plane : read_entries(planes)) {
    node.peers.planes.push_back(required_link(plane, {LinkKind::nvlink}));
  }
  if (node.peers.planes.empty() && in.readable()) {
    planes.fail(planes.present() ? planes.found() : "nothing",
                "a list of links, one of each device to every plane");
  }
  node.peers.reduces = read_flag(in.take("reduces"), false);
  in.finish();
}

/// [a, b] or [a, b, lanes].
cost::PeerLink read_pair(const Place& place, int devices) {
  const std::vector<Place> parts = read_entries(place);
  if (!place.value->is_array()) { return {}; }
  if (parts.size() != 2 && parts.size() != 3) {
    place.fail(std::to_string(parts.size()) + " entries",
               "[device, device] or [device, device, lanes]");
    return {};
  }
  cost::PeerLink pair;
  const std::size_t before = place.source->problems->errors().size();
  pair.a = static_cast<int>(read_count(parts[0], {0, devices - 1}));
  pair.b = static_cast<int>(read_count(parts[1], {0, devices - 1}));
  if (parts.size() == 3) { pair.lanes = static_cast<int>(read_count(parts[2], {1, kMostLanes})); }
  const bool whole = place.source->problems->errors().size() == before;
  if (whole && pair.a == pair.b) {
    place.fail("device " + std::to_string(pair.a) + " linked to itself", "two devices");
  }
  return pair;
}

void read_pairs(const Place& place, NodeDesign& node) {
  std::set<std::pair<int, int>> known;
  for (const Place& entry : read_entries(place)) {
    const cost::PeerLink pair = read_pair(entry, count(node.devices));
    node.peers.pairs.push_back(pair);
    const auto ends = std::minmax(pair.a, pair.b);
    if (pair.a != pair.b && !known.insert(ends).second) {
      entry.fail("devices " + std::to_string(ends.first) + " and " + std::to_string(ends.second) +
                     " a second time",
                 "each pair once", "add up its lanes");
    }
  }
}

NodeDesign with_pattern(Reader& in, NodeDesign node, const LinkSpec& lane) {
  const Place place = in.take("pattern");
  const std::size_t pattern = read_choice(place, kPatterns);
  const int devices = count(node.devices);
  if (pattern == 3 && devices != 8) {
    place.fail("\"cube_mesh\" of " + std::to_string(devices) + " devices", "8 devices");
    return node;
  }
  if (pattern == 3) { return with_cube_mesh(std::move(node), lane); }
  if (pattern == 2) {
    const auto lanes = read_count(in.take("lanes"), {1, kMostLanes}, 1);
    return with_bridges(std::move(node), static_cast<int>(lanes), lane);
  }
  int size = devices;
  if (pattern == 1) { size = static_cast<int>(read_count(in.take("size"), {2, devices})); }
  if (size > kMostAllToAll) {
    place.fail(std::to_string(size) + " devices linked pair by pair",
               "at most " + std::to_string(kMostAllToAll), "\"nvswitch\"");
    return node;
  }
  return with_linked_groups(std::move(node), size, lane);
}

void read_links(Reader in, NodeDesign& node) {
  const LinkSpec lane = required_link(in.take("lane"), {LinkKind::nvlink});
  const Place pairs = in.take("pairs");
  if (pairs.present()) {
    node.peers.lane = lane;
    read_pairs(pairs, node);
    if (in.take("pattern").present()) {
      in.take("pattern").fail(R"("pattern" beside "pairs")", "one of them");
    }
  } else if (in.readable()) {
    node = with_pattern(in, std::move(node), lane);
  }
  in.finish();
}

}  // namespace

void read_peers(const Place& nvswitch, const Place& links, NodeDesign& node) {
  if (nvswitch.present()) { read_nvswitch(Reader(nvswitch), node); }
  if (links.present()) { read_links(Reader(links), node); }
}

}  // namespace tsim::sim
