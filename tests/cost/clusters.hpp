// Small clusters that the network's tests share.
#pragma once

#include <numeric>
#include <vector>

#include "cost/build_cluster.hpp"
#include "cost/wiring/node_designs.hpp"

namespace tsim::cost::testing {

inline ClusterSpec nvswitch_node(int devices, BytesPerSecond bandwidth, Seconds latency) {
  ClusterSpec spec;
  spec.devices_per_node = devices;
  spec.node = {.kind = NodeKind::nvswitch, .bandwidth = bandwidth, .latency = latency};
  return spec;
}

inline ClusterSpec nvswitch_cluster(int nodes, int devices, NetworkWiring network) {
  ClusterSpec spec = nvswitch_node(devices, {300e9}, {3e-6});
  spec.nodes = nodes;
  spec.network = network;
  return spec;
}

inline std::vector<int> first_devices(int n) {
  std::vector<int> devices(static_cast<std::size_t>(n));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

inline std::vector<std::string> channel_names(const Topology& t, const Path& path) {
  std::vector<std::string> names;
  for (const ChannelId c : path.channels) {
    names.push_back(t.channels[static_cast<std::size_t>(c)].name);
  }
  return names;
}

}  // namespace tsim::cost::testing
