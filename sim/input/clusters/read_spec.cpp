#include "sim/input/clusters/read_spec.hpp"

#include <array>

#include "sim/input/clusters/read_design.hpp"
#include "sim/input/clusters/read_node_design.hpp"
#include "sim/input/clusters/read_tuning.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/rules/plausible.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::array kNodeKinds{cost::NodeKind::nvswitch, cost::NodeKind::pcie,
                                cost::NodeKind::direct};
constexpr std::int64_t kMostDirectInNode = 32;  // links grow with the square

Seconds read_latency(const Place& place, std::optional<double> fallback = {}) {
  const Seconds latency{read_quantity(place, Dimension::time, fallback, true)};
  warn_if_slow_crossing(place, latency);
  return latency;
}

cost::NodeWiring read_node(Reader in, int devices_per_node) {
  cost::NodeWiring node;
  const std::size_t before = in.source().problems->errors().size();
  node.kind = read_choice<cost::NodeKind>(in.take("kind"), kNodeKinds);
  const bool kind_known = in.source().problems->errors().size() == before;
  const bool pcie = node.kind == cost::NodeKind::pcie;
  const Place bandwidth = in.take("bandwidth");
  node.bandwidth = {read_quantity(bandwidth, Dimension::rate)};
  warn_if_fast_link(bandwidth, node.bandwidth, pcie);
  node.latency = read_latency(in.take("latency"));
  node.host_latency = node.latency;
  node.uplink_bandwidth = node.bandwidth;
  if (pcie) {
    node.devices_per_switch =
        static_cast<int>(read_count(in.take("devices_per_switch"), {1, kMostInNode}, 0));
    const Place uplink = in.take("uplink_bandwidth");
    node.uplink_bandwidth = {read_quantity(uplink, Dimension::rate, node.bandwidth.value)};
    warn_if_fast_link(uplink, node.uplink_bandwidth, pcie);
    node.host_latency = read_latency(in.take("host_latency"), node.latency.value);
  }
  if (node.kind == cost::NodeKind::nvswitch) {
    node.in_switch_reduction = read_flag(in.take("in_switch_reduction"), false);
  }
  if (node.kind == cost::NodeKind::direct && devices_per_node > kMostDirectInNode) {
    in.take("kind").fail(
        "\"direct\" with " + std::to_string(devices_per_node) + " devices",
        "at most " + std::to_string(kMostDirectInNode) + " devices that are linked pair by pair",
        "\"nvswitch\"");
  }
  if (kind_known) { in.finish(); }  // else nobody knows which keys belong here
  return node;
}

cost::NetworkWiring read_network(Reader in) {
  cost::NetworkWiring network;
  network.nics_per_node = static_cast<int>(read_count(in.take("nics_per_node"), {1, 1024}, 1));
  const Place bandwidth = in.take("bandwidth");
  network.bandwidth = {read_quantity(bandwidth, Dimension::rate)};
  warn_if_fast_nic(bandwidth, network.bandwidth);
  network.latency = read_latency(in.take("latency"));
  network.efficiency =
      read_real(in.take("efficiency"), {.least = 0.0, .most = 1.0, .above = true}, 1.0);
  in.finish();
  return network;
}

/// A missing object is told once, not key by key.
bool required(const Place& place, bool needed, const std::string& expected) {
  if (needed && !place.present()) { place.fail("nothing", expected); }
  return place.present();
}

}  // namespace

cost::ClusterSpec read_spec(Reader& in, const fs::path& folder) {
  cost::ClusterSpec spec;
  spec.name = read_text(in.take("name"), "");
  read_text(in.take("description"), "");
  read_text(in.take("source"), "");
  spec.nodes = static_cast<int>(read_count(in.take("nodes"), {1, kMostDevices}, 1));
  spec.devices_per_node =
      static_cast<int>(read_count(in.take("devices_per_node"), {1, kMostInNode}));
  spec.device = read_device(in.take("device"), folder);
  read_host_times(in, {&spec.device, 1});
  const Place node = in.take("node");
  const Place network = in.take("network");
  if (required(node, spec.devices_per_node > 1,
               "the wiring inside a node, as devices_per_node is " +
                   std::to_string(spec.devices_per_node))) {
    spec.node = read_node(Reader(node), spec.devices_per_node);
  }
  if (required(network, spec.nodes > 1,
               "the wiring between nodes, as nodes is " + std::to_string(spec.nodes))) {
    spec.network = read_network(Reader(network));
  }
  spec.tuning = read_tuning(in.take("tuning"));
  in.finish();
  const std::int64_t devices = std::int64_t{spec.nodes} * spec.devices_per_node;
  if (devices > kMostDevices) {
    in.take("nodes").fail("nodes*devices_per_node = " + std::to_string(devices),
                          "at most " + std::to_string(kMostDevices) + " devices");
  }
  return spec;
}

}  // namespace tsim::sim
