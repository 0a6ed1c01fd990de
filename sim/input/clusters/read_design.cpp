#include "sim/input/clusters/read_design.hpp"

#include <cmath>
#include <set>

#include "sim/input/clusters/read_fabric.hpp"
#include "sim/input/clusters/read_node_design.hpp"
#include "sim/input/clusters/read_tuning.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using cost::NodeGroup;

std::vector<std::string> names_of(const std::vector<cost::Device>& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const cost::Device& kind : kinds) { names.push_back(kind.name); }
  return names;
}

NodeGroup read_group(Reader in, const std::vector<std::string>& kinds, const fs::path& folder) {
  NodeGroup group;
  group.count = static_cast<int>(read_count(in.take("count"), {1, kMostDevices}, 1));
  const std::vector<std::string_view> names(kinds.begin(), kinds.end());
  const auto kind = static_cast<int>(read_choice(in.take("kind"), names, 0));
  group.node = read_node_design(in.take("node"), {&kinds, kind, folder});
  in.finish();
  return group;
}

void check_size(const Place& nodes, const cost::ClusterDesign& design) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : design.nodes) {
    devices += std::int64_t{group.count} * static_cast<std::int64_t>(group.node.devices.size());
  }
  if (devices > kMostDevices) {
    nodes.fail(std::to_string(devices) + " devices",
               "at most " + std::to_string(kMostDevices) + " devices");
  } else if (const double links = link_count(design); links > kMostLinks) {
    nodes.fail(
        "nodes and a fabric of " + std::to_string(std::llround(std::min(links, 1e18))) + " links",
        "at most " + std::to_string(std::llround(kMostLinks)) + " links");
  }
}

double links_in(const cost::NodeDesign& node) {
  auto links = static_cast<double>(node.devices.size() * 2 + node.peers.pairs.size() +
                                   node.host.switches.size() + node.host.bridges.size() +
                                   node.nics.size() * 2 + node.drives.size());
  for (const cost::NicDesign& nic : node.nics) { links += static_cast<double>(nic.serves.size()); }
  int sockets = 0;
  for (const int socket : node.host.bridges) { sockets = std::max(sockets, socket + 1); }
  return links + 0.5 * sockets * (sockets + 1);
}

double links_of(const cost::TreeFabric& tree, double nodes) {
  const double per_leaf = tree.nodes_per_leaf > 0 ? tree.nodes_per_leaf : nodes;
  double groups = std::ceil(nodes / per_leaf) * tree.rails;
  double planes = 1;
  double links = 0;
  for (const cost::TreeLevel& level : tree.levels) {
    planes *= level.parents;
    links += groups * planes;
    groups = std::ceil(groups / level.children);
  }
  return links;
}

double links_of(const cost::Dragonfly& d, double /*nodes*/) {
  const double groups = d.groups;
  const double routers = d.routers;
  return 0.5 * groups * (groups - 1) + 0.5 * groups * routers * (routers - 1) + groups * routers;
}

double links_of(const cost::Torus& torus, double /*nodes*/) {
  auto links = static_cast<double>(torus.sizes.size());
  for (const int size : torus.sizes) { links *= size; }
  return links;
}

}  // namespace

double link_count(const cost::ClusterDesign& design) {
  double links = 0;
  double nodes = 0;
  for (const NodeGroup& group : design.nodes) {
    nodes += group.count;
    links += group.count * links_in(group.node);
  }
  if (nodes < 2) { return links; }
  return links + std::visit([&](const auto& f) { return links_of(f, nodes); }, design.fabric);
}

namespace {

std::vector<cost::Device> read_devices(Reader& in, const fs::path& folder) {
  const Place kinds = in.take("kinds");
  const Place device = in.take("device");
  if (!kinds.present()) { return {read_device(device, folder)}; }
  if (device.present()) { device.fail(R"("device" beside "kinds")", "one of them"); }
  std::vector<cost::Device> devices;
  std::set<std::string> names;
  for (const Place& kind : read_entries(kinds)) {
    devices.push_back(read_device(kind, folder));
    if (!devices.back().name.empty() && !names.insert(devices.back().name).second) {
      kind.fail("a second kind named " + in_quotes(devices.back().name), "names that differ",
                R"(give it a name: {"base": ..., "name": ...})");
    }
  }
  if (devices.empty()) {
    kinds.fail(kinds.found(), "a list of devices");
    devices.emplace_back();
  }
  return devices;
}

}  // namespace

void read_host_times(Reader& in, std::span<cost::Device> devices) {
  const auto time = [&](std::string_view key, Seconds cost::Device::*of_host) {
    const Place place = in.take(key);
    if (!place.present()) { return; }
    const Seconds value{read_quantity(place, Dimension::time, 0.0, true)};
    for (cost::Device& device : devices) { device.*of_host = value; }
  };
  time("host_launch", &cost::Device::host_launch);
  time("host_collective", &cost::Device::host_collective);
}

std::vector<cost::Device> read_kinds(Reader& in, const fs::path& folder) {
  std::vector<cost::Device> devices = read_devices(in, folder);
  read_host_times(in, devices);
  return devices;
}

cost::ClusterDesign read_design(Reader& in, const fs::path& folder) {
  cost::ClusterDesign design;
  design.name = read_text(in.take("name"), "");
  read_text(in.take("description"), "");
  read_text(in.take("source"), "");
  design.devices = read_kinds(in, folder);
  const std::vector<std::string> kinds = names_of(design.devices);
  const Place nodes = in.take("nodes");
  for (const Place& group : read_entries(nodes)) {
    design.nodes.push_back(read_group(Reader(group), kinds, folder));
  }
  if (design.nodes.empty()) { nodes.fail(nodes.found(), "at least one group of nodes"); }
  design.fabric = read_fabric(in.take("fabric"), design.nodes);
  design.tuning = read_tuning(in.take("tuning"));
  in.finish();
  check_size(nodes, design);
  return design;
}

}  // namespace tsim::sim
