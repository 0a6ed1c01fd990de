#include "cost/routing/nearness.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace tsim::cost {
namespace {

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// What a way has crossed so far.
struct Crossed {
  bool reached = false;
  int hops = 0, switches = 0, bridges = 0, sockets = 0;
};

Near near_of(const Crossed& way) {
  if (!way.reached) { return Near::none; }
  if (way.sockets > 1) { return Near::sys; }
  if (way.sockets == 1 || way.bridges > 1) { return Near::node; }
  if (way.bridges == 1) { return Near::phb; }
  return way.switches > 1 ? Near::pxb : Near::pix;
}

/// The links that one node's cards are wired by.
class NodeGraph {
 public:
  NodeGraph(const Topology& t, std::int32_t node) : t_(t), links_of_(t.vertices.size()) {
    for (std::size_t i = 0; i < t.links.size(); ++i) {
      const Link& link = t.links[i];
      if (t.vertices[index(link.a)].node != node || t.vertices[index(link.b)].node != node) {
        continue;
      }
      links_of_[index(link.a)].push_back(static_cast<std::int32_t>(i));
      links_of_[index(link.b)].push_back(static_cast<std::int32_t>(i));
    }
  }

  /// By vertex, the way with the fewest hops that neither NVLinks, host memory nor other cards are
  /// part of.
  std::vector<Crossed> ways_from(VertexId card) const {
    std::vector<Crossed> ways(t_.vertices.size());
    ways[index(card)].reached = true;
    std::deque<VertexId> next{card};
    while (!next.empty()) {
      const VertexId v = next.front();
      next.pop_front();
      if (v != card && is_card(v)) { continue; }
      for (const std::int32_t i : links_of_[index(v)]) {
        const VertexId to = other_end(i, v);
        if (t_.links[index(i)].kind == LinkKind::nvlink || ways[index(to)].reached ||
            kind(to) == VertexKind::host_memory || kind(to) == VertexKind::nvswitch) {
          continue;
        }
        ways[index(to)] = crossed(ways[index(v)], kind(to));
        next.push_back(to);
      }
    }
    return ways;
  }

  /// NVLink lanes between two cards, by themselves or by the thinner end at a common switch.
  int lanes(VertexId a, VertexId b) const {
    int direct = 0;
    int switched = 0;
    for (const std::int32_t i : links_of_[index(a)]) {
      if (t_.links[index(i)].kind != LinkKind::nvlink) { continue; }
      const VertexId to = other_end(i, a);
      if (to == b) { direct += t_.links[index(i)].lanes; }
      if (kind(to) != VertexKind::nvswitch) { continue; }
      switched += std::min(t_.links[index(i)].lanes, lanes_to_switch(b, to));
    }
    return direct + switched;
  }

 private:
  VertexKind kind(VertexId v) const { return t_.vertices[index(v)].kind; }
  bool is_card(VertexId v) const {
    return kind(v) == VertexKind::device || kind(v) == VertexKind::nic ||
           kind(v) == VertexKind::nvme;
  }
  VertexId other_end(std::int32_t link, VertexId v) const {
    const Link& l = t_.links[index(link)];
    return l.a == v ? l.b : l.a;
  }
  int lanes_to_switch(VertexId card, VertexId hub) const {
    int lanes = 0;
    for (const std::int32_t i : links_of_[index(card)]) {
      if (other_end(i, card) == hub) { lanes += t_.links[index(i)].lanes; }
    }
    return lanes;
  }
  static Crossed crossed(Crossed way, VertexKind next) {
    way.reached = true;
    ++way.hops;
    way.switches += next == VertexKind::pcie_switch ? 1 : 0;
    way.bridges += next == VertexKind::host_bridge ? 1 : 0;
    way.sockets += next == VertexKind::cpu ? 1 : 0;
    return way;
  }

  const Topology& t_;
  std::vector<std::vector<std::int32_t>> links_of_;
};

}  // namespace

std::string text_of(const Nearness& nearness) {
  constexpr std::array kTexts{"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS", "-"};
  std::string text = kTexts[static_cast<std::size_t>(nearness.near)];
  if (nearness.near == Near::nvlink) { text += std::to_string(nearness.lanes); }
  return text;
}

std::vector<VertexId> cards_of_node(const Topology& topology, std::int32_t node) {
  std::vector<VertexId> cards;
  for (const VertexId device : topology.devices) {
    if (topology.vertices[index(device)].node == node) { cards.push_back(device); }
  }
  for (const VertexKind kind : {VertexKind::nic, VertexKind::nvme}) {
    for (std::size_t v = 0; v < topology.vertices.size(); ++v) {
      const Vertex& vertex = topology.vertices[v];
      if (vertex.node == node && vertex.kind == kind) { cards.push_back(static_cast<VertexId>(v)); }
    }
  }
  return cards;
}

std::vector<std::vector<Nearness>> nearness_matrix(const Topology& topology,
                                                   const std::vector<VertexId>& cards) {
  std::vector<std::vector<Nearness>> matrix;
  if (cards.empty()) { return matrix; }
  const NodeGraph graph(topology, topology.vertices[index(cards[0])].node);
  for (const VertexId from : cards) {
    const std::vector<Crossed> ways = graph.ways_from(from);
    std::vector<Nearness>& row = matrix.emplace_back();
    for (const VertexId to : cards) {
      const int lanes = from == to ? 0 : graph.lanes(from, to);
      if (from == to) {
        row.push_back({Near::self, 0});
      } else if (lanes > 0) {
        row.push_back({Near::nvlink, lanes});
      } else {
        row.push_back({near_of(ways[index(to)]), 0});
      }
    }
  }
  return matrix;
}

VertexId socket_of(const Topology& topology, VertexId card) {
  const NodeGraph graph(topology, topology.vertices[index(card)].node);
  const std::vector<Crossed> ways = graph.ways_from(card);
  VertexId nearest = -1;
  bool several = false;
  for (std::size_t v = 0; v < ways.size(); ++v) {
    if (!ways[v].reached || topology.vertices[v].kind != VertexKind::cpu) { continue; }
    if (nearest < 0 || ways[v].hops < ways[index(nearest)].hops) {
      nearest = static_cast<VertexId>(v);
      several = false;
    } else if (ways[v].hops == ways[index(nearest)].hops) {
      several = true;
    }
  }
  return several ? -1 : nearest;
}

}  // namespace tsim::cost
