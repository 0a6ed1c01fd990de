// Small clusters that the network's tests share.
#pragma once

#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "cost/build_cluster.hpp"
#include "cost/collectives.hpp"
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

/// A cluster to plan on.
struct Bench {
  explicit Bench(const ClusterSpec& spec)
      : cluster(build_cluster(spec)), router(cluster.topology) {}
  explicit Bench(const ClusterDesign& design)
      : cluster(build_cluster(design)), router(cluster.topology) {}
  explicit Bench(Cluster c) : cluster(std::move(c)), router(cluster.topology) {}
  CollectivePlan plan(CollectiveOp op, std::string_view algorithm, std::vector<int> devices,
                      Bytes payload) {
    return plan_collective(op, algorithm, devices, payload, router);
  }
  double seconds(CollectiveOp op, std::string_view algorithm, std::vector<int> devices,
                 Bytes payload) {
    return time_alone(plan(op, algorithm, std::move(devices), payload), cluster.topology, router)
        .value;
  }
  /// nccl-tests' bus bandwidth of an all-reduce, bytes/s.
  double all_reduce_busbw(std::string_view algorithm, std::vector<int> devices, Bytes payload) {
    const auto n = static_cast<double>(devices.size());
    return 2 * (n - 1) / n * to_double(payload) /
           seconds(CollectiveOp::all_reduce, algorithm, std::move(devices), payload);
  }
  Cluster cluster;
  Router router;
};

/// Bytes by device.
inline std::map<int, double> sent(const CollectivePlan& plan) {
  std::map<int, double> bytes;
  for (const Transfer& t : plan.transfers) { bytes[t.from] += t.bytes; }
  return bytes;
}

inline std::map<int, double> received(const CollectivePlan& plan) {
  std::map<int, double> bytes;
  for (const Transfer& t : plan.transfers) { bytes[t.to] += t.bytes; }
  return bytes;
}

}  // namespace tsim::cost::testing
