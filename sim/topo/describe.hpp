// What there is to say of a cluster's wiring: figures only, no formatting.
#pragma once

#include <string>
#include <vector>

#include "cost/routing/nearness.hpp"
#include "cost/topology.hpp"

namespace tsim::sim {

/// One node: its cards and how close they are.
struct NodeTable {
  int node = 0;
  int alike = 1;                   // nodes wired as this one, itself included
  std::vector<std::string> cards;  // "GPU0", "NIC0", "NVME0"
  std::vector<std::string> names;  // the vertices' names
  std::vector<std::vector<cost::Nearness>> matrix;
  std::vector<std::string> cores;  // by card: of its socket, empty when not known
  std::vector<std::string> numa;   // the same: the socket's number
  int devices = 0;                 // the first so many cards
  std::vector<std::string> kinds;  // of these devices
};

/// The way from one device to another, and those that are just like it.
struct PairRow {
  int from = 0, to = 0;
  bool reachable = true;
  BytesPerSecond bandwidth{};  // of the slowest link; infinite when nothing limits
  Seconds latency{};
  std::string path;        // "node0/gpu0 > node0/nvswitch > node0/gpu1"; links that never limit are
                           // dots
  std::int64_t alike = 1;  // ways of the same figures between the same kinds of place
};

struct TopologyReport {
  std::string name;
  int nodes = 0, devices = 0;
  std::vector<std::string> kinds;  // "16 x a100-sxm-80g"
  std::vector<NodeTable> tables;
  std::vector<PairRow> inside;   // of the nodes in `tables`: all pairs
  std::vector<PairRow> between;  // nodes: one of each sort, or all pairs
};

/// `all`: every node and every pair; else one node of each kind and, from its first device and to
/// the same place and the next of other nodes, one way of each sort.
TopologyReport describe(const cost::Cluster& cluster, bool all);

/// A node, and how many nodes are wired as it is, itself included.
struct NodeChoice {
  int node = 0;
  int alike = 1;
};
/// One node of each kind, or all.
std::vector<NodeChoice> nodes_to_show(const cost::Cluster& cluster, bool all);

/// Pairs that describe(..., true) lists.
std::int64_t pair_count(const cost::Cluster& cluster);

}  // namespace tsim::sim
