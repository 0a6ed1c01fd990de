#include "sim/input/clusters/read_fabric.hpp"

#include <algorithm>
#include <array>

#include "sim/input/clusters/read_link.hpp"

namespace tsim::sim {
namespace {

using cost::LinkKind;
using cost::NodeGroup;

constexpr std::array<std::string_view, 3> kKinds{"tree", "dragonfly", "torus"};
constexpr std::int64_t kMostSwitches = 1'000'000;
constexpr std::int64_t kMostDimensions = 8;

int read_size(const Place& place, std::optional<std::int64_t> fallback = {}) {
  return static_cast<int>(read_count(place, {1, kMostSwitches}, fallback));
}

/// What the NICs of a node send together, of the node that sends most.
BytesPerSecond rate_of_node(const std::vector<NodeGroup>& groups) {
  BytesPerSecond most{};
  for (const NodeGroup& group : groups) {
    BytesPerSecond sum{};
    for (const cost::NicDesign& nic : group.node.nics) { sum += nic.wire.bandwidth; }
    most = std::max(most, sum);
  }
  return most;
}

/// Levels from the leaves up. Where one states how far it is oversubscribed, its links carry that
/// share of what comes from below: link = down / (oversubscription x parents).
class LevelReader {
 public:
  explicit LevelReader(BytesPerSecond down) : down_(down) {}

  cost::TreeLevel read(Reader in) {
    cost::TreeLevel level;
    level.children = read_size(in.take("children"));
    level.parents = read_size(in.take("parents"), 1);
    const Place link = in.take("link");
    const Place over = in.take("oversubscription");
    if (over.present()) {
      const double factor = read_real(over, {.least = 0.0, .most = 1e6, .above = true});
      cost::LinkSpec spec{(1.0 / (factor * level.parents)) * down_, {}, true, 1};
      if (!(spec.bandwidth.value > 0)) {
        over.fail(over.found(), "NICs, of whose rates this is a share");
        spec.bandwidth = cost::kUnlimited;
      }
      level.link = read_link_keys(in, {LinkKind::fabric, spec});
      if (link.present()) { link.fail(R"("link" beside "oversubscription")", "one of them"); }
    } else {
      level.link = required_link(link, {LinkKind::fabric});
    }
    in.finish();
    down_ = level.children * level.link.bandwidth;
    return level;
  }

 private:
  BytesPerSecond down_;  // into one switch from below
};

cost::TreeFabric read_tree(Reader& in, const std::vector<NodeGroup>& groups) {
  cost::TreeFabric tree;
  std::int64_t nodes = 0;
  for (const NodeGroup& group : groups) { nodes += group.count; }
  tree.nodes_per_leaf =
      static_cast<int>(read_count(in.take("nodes_per_leaf"), {0, kMostSwitches}, 0));
  tree.rails = static_cast<int>(read_count(in.take("rails"), {1, 1024}, 1));
  const auto per_leaf = static_cast<double>(tree.nodes_per_leaf > 0 ? tree.nodes_per_leaf : nodes);
  LevelReader levels((per_leaf / tree.rails) * rate_of_node(groups));
  for (const Place& level : read_entries(in.take("levels"))) {
    tree.levels.push_back(levels.read(Reader(level)));
  }
  return tree;
}

cost::Dragonfly read_dragonfly(Reader& in) {
  cost::Dragonfly d;
  d.groups = read_size(in.take("groups"));
  d.routers = read_size(in.take("routers"));
  d.nodes_per_router = read_size(in.take("nodes_per_router"), 1);
  d.local = required_link(in.take("local"), {LinkKind::fabric});
  d.global = required_link(in.take("global"), {LinkKind::fabric});
  return d;
}

cost::Torus read_torus(Reader& in) {
  cost::Torus torus;
  const Place sizes = in.take("sizes");
  for (const Place& size : read_entries(sizes)) { torus.sizes.push_back(read_size(size)); }
  if (torus.sizes.empty() || torus.sizes.size() > kMostDimensions) {
    sizes.fail(sizes.present() ? std::to_string(torus.sizes.size()) + " dimensions" : "nothing",
               "1 to " + std::to_string(kMostDimensions) + " dimensions, such as [4, 4]");
  }
  torus.nodes_per_router = read_size(in.take("nodes_per_router"), 1);
  torus.link = required_link(in.take("link"), {LinkKind::fabric});
  return torus;
}

}  // namespace

cost::Fabric read_fabric(const Place& place, const std::vector<NodeGroup>& nodes) {
  if (!place.present()) { return {}; }
  Reader in(place);
  cost::Fabric fabric;
  const std::size_t before = place.source->problems->errors().size();
  const std::size_t kind = read_choice(in.take("kind"), kKinds);
  // Of an unknown kind nobody knows which keys belong here.
  if (place.source->problems->errors().size() != before) { return fabric; }
  switch (kind) {
    case 1: fabric = read_dragonfly(in); break;
    case 2: fabric = read_torus(in); break;
    default: fabric = read_tree(in, nodes);
  }
  in.finish();
  return fabric;
}

}  // namespace tsim::sim
