#include "sim/topo/describe.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/topo/path_teller.hpp"

namespace tsim::sim {
namespace {

using cost::Topology;
using cost::VertexId;
using cost::VertexKind;

constexpr std::int64_t kMostSearched = 200'000;  // ways between nodes that are looked at

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string card_name(VertexKind kind, int number) {
  const char* const word = kind == VertexKind::device ? "GPU"
                           : kind == VertexKind::nic  ? "NIC"
                                                      : "NVME";
  return word + std::to_string(number);
}

void fill(NodeTable& table, const cost::Cluster& cluster) {
  const Topology& t = cluster.topology;
  const std::vector<VertexId> cards = cost::cards_of_node(t, table.node);
  table.matrix = cost::nearness_matrix(t, cards);
  std::map<VertexKind, int> numbers;
  std::vector<VertexId> sockets;
  for (std::size_t v = 0; v < t.vertices.size(); ++v) {
    const bool here = t.vertices[v].node == table.node && t.vertices[v].kind == VertexKind::cpu;
    if (here) { sockets.push_back(static_cast<VertexId>(v)); }
  }
  for (const VertexId card : cards) {
    const cost::Vertex& vertex = t.vertices[index(card)];
    table.cards.push_back(card_name(vertex.kind, numbers[vertex.kind]++));
    table.names.push_back(vertex.name);
    const VertexId socket = cost::socket_of(t, card);
    const auto at = std::ranges::find(sockets, socket);
    table.cores.push_back(socket < 0 ? "" : t.vertices[index(socket)].cores);
    table.numa.push_back(socket < 0 ? "" : std::to_string(at - sockets.begin()));
  }
  table.devices = numbers[VertexKind::device];
}

/// Finds ways and tells what they are.
class PairTeller {
 public:
  explicit PairTeller(const Topology& t) : t_(t), router_(t), teller_(t) {}

  /// Without the path's text.
  PairRow figures(int from, int to) {
    PairRow row{.from = from, .to = to, .path = {}};
    try {
      const cost::Path& path = router_.path(from, to);
      row.latency = path.latency;
      row.bandwidth = cost::kUnlimited;
      for (const cost::ChannelId c : path.channels) {
        row.bandwidth = std::min(row.bandwidth, t_.channels[index(c)].bandwidth);
      }
    } catch (const cost::Unreachable&) { row.reachable = false; }
    return row;
  }

  void tell_path(PairRow& row) {
    row.path = row.reachable ? teller_.text(router_.path(row.from, row.to),
                                            t_.devices[index(row.from)], t_.devices[index(row.to)])
                             : "none that passes no other device";
  }

  PairRow row(int from, int to) {
    PairRow row = figures(from, to);
    tell_path(row);
    return row;
  }

 private:
  const Topology& t_;
  cost::Router router_;
  PathTeller teller_;
};

/// The first of the ways with the same figures stands for all.
class Sorts {
 public:
  void add(PairRow row) {
    const auto [at, is_new] = known_.try_emplace(
        std::tuple{row.reachable, row.bandwidth.value, row.latency.value}, rows.size());
    if (is_new) {
      rows.push_back(std::move(row));
    } else {
      ++rows[at->second].alike;
    }
  }
  std::vector<PairRow> rows;

 private:
  std::map<std::tuple<bool, double, double>, std::size_t> known_;
};

std::vector<int> devices_of(const Topology& t, int node) {
  std::vector<int> devices;
  for (int d = 0; d < static_cast<int>(t.devices.size()); ++d) {
    if (cost::node_of(t, d) == node) { devices.push_back(d); }
  }
  return devices;
}

std::vector<PairRow> all_between(const Topology& t, PairTeller& teller) {
  std::vector<PairRow> rows;
  const int devices = static_cast<int>(t.devices.size());
  for (int a = 0; a < devices; ++a) {
    for (int b = a + 1; b < devices; ++b) {
      if (cost::node_of(t, a) != cost::node_of(t, b)) { rows.push_back(teller.row(a, b)); }
    }
  }
  return rows;
}

std::vector<PairRow> sorts_between(const Topology& t, const std::vector<NodeTable>& tables,
                                   PairTeller& teller) {
  Sorts sorts;
  const int devices = static_cast<int>(t.devices.size());
  for (const NodeTable& table : tables) {
    std::vector<int> from = devices_of(t, table.node);
    const auto ways = static_cast<std::int64_t>(from.size() * tables.size()) * devices;
    if (ways > kMostSearched) { from.resize(1); }
    for (const int a : from) {
      for (int b = 0; b < devices; ++b) {
        if (cost::node_of(t, b) != table.node) { sorts.add(teller.figures(a, b)); }
      }
    }
  }
  for (PairRow& row : sorts.rows) { teller.tell_path(row); }
  return std::move(sorts.rows);
}

std::vector<std::string> kinds_in(const cost::Cluster& cluster, const std::vector<int>& devices) {
  std::vector<std::string> kinds;
  kinds.reserve(devices.size());
  for (const int d : devices) {
    kinds.push_back(cluster.devices.at(index(cluster.topology.device_kind[index(d)])).name);
  }
  return kinds;
}

}  // namespace

std::vector<NodeChoice> nodes_to_show(const cost::Cluster& cluster, bool all) {
  std::vector<NodeChoice> chosen;
  std::map<std::int32_t, std::size_t> of_kind;
  for (int node = 0; node < cluster.nodes; ++node) {
    const std::int32_t kind = cluster.topology.node_kind[index(node)];
    const auto known = of_kind.find(kind);
    if (!all && kind >= 0 && known != of_kind.end()) {
      ++chosen[known->second].alike;
      continue;
    }
    of_kind.emplace(kind, chosen.size());
    chosen.push_back({node, 1});
  }
  return chosen;
}

std::int64_t pair_count(const cost::Cluster& cluster) {
  const auto devices = static_cast<std::int64_t>(cluster.topology.devices.size());
  return devices * (devices - 1) / 2;
}

TopologyReport describe(const cost::Cluster& cluster, bool all) {
  const Topology& t = cluster.topology;
  TopologyReport report;
  report.name = cluster.name;
  report.nodes = cluster.nodes;
  report.devices = device_count(cluster);
  for (std::size_t kind = 0; kind < cluster.devices.size(); ++kind) {
    const auto count = std::ranges::count(t.device_kind, static_cast<std::int32_t>(kind));
    report.kinds.push_back(std::to_string(count) + " x " + cluster.devices[kind].name);
  }
  for (const auto& [node, alike] : nodes_to_show(cluster, all)) {
    NodeTable& table = report.tables.emplace_back();
    table.node = node;
    table.alike = alike;
  }
  PairTeller teller(t);
  for (NodeTable& table : report.tables) {
    fill(table, cluster);
    const std::vector<int> devices = devices_of(t, table.node);
    table.kinds = kinds_in(cluster, devices);
    for (std::size_t a = 0; a < devices.size(); ++a) {
      for (std::size_t b = a + 1; b < devices.size(); ++b) {
        report.inside.push_back(teller.row(devices[a], devices[b]));
      }
    }
  }
  if (cluster.nodes > 1) {
    report.between = all ? all_between(t, teller) : sorts_between(t, report.tables, teller);
  }
  return report;
}

}  // namespace tsim::sim
