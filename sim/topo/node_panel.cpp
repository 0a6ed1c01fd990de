#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "sim/topo/layout.hpp"

namespace tsim::sim {
namespace {

using cost::Link;
using cost::LinkKind;
using cost::Topology;
using cost::VertexId;
using cost::VertexKind;

constexpr double kColumn = 104, kRow = 96, kBoxWidth = 84, kBoxHeight = 38, kMargin = 24;
constexpr double kArcStep = 13;  // how much deeper an arc sags for each column it spans

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// How far up a vertex stands in the tree of a node; cards are 0.
int rank_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::cpu: return 3;
    case VertexKind::host_bridge: return 2;
    case VertexKind::pcie_switch: return 1;
    default: return 0;
  }
}

bool in_tree(VertexKind kind) {
  return kind != VertexKind::nvswitch && kind != VertexKind::host_memory;
}

/// Gives each vertex of a node a column and a row.
class NodeLayout {
 public:
  NodeLayout(const Topology& t, std::int32_t node) : t_(t), node_(node) {
    for (std::size_t v = 0; v < t.vertices.size(); ++v) {
      if (t.vertices[v].node == node) { vertices_.push_back(static_cast<VertexId>(v)); }
    }
    for (const Link& link : t.links) {
      if (here(link.a) && here(link.b)) { links_.push_back(&link); }
    }
    for (const int rank : {3, 2, 1, 0}) {
      for (const VertexId v : vertices_) {
        if (in_tree(kind(v)) && rank_of(kind(v)) == rank) { place(v, 3 - rank); }
      }
    }
    level();
  }

  Panel panel() {
    add_boxes();
    for (const Link* link : links_) { add_line(*link); }
    panel_.width = 2 * kMargin + columns_ * kColumn;
    panel_.height = bottom() + kMargin;
    return std::move(panel_);
  }

 private:
  bool here(VertexId v) const { return t_.vertices[index(v)].node == node_; }
  VertexKind kind(VertexId v) const { return t_.vertices[index(v)].kind; }

  /// Lays out what hangs below `v`, then `v` above the middle of it. Cards have a column each.
  void place(VertexId v, int row) {
    if (column_.contains(v)) { return; }
    column_[v] = -1;
    row_[v] = row;
    const double first = columns_;
    const bool card = rank_of(kind(v)) == 0;
    if (card) { column_[v] = columns_++; }
    for (const VertexId child : below(v)) { place(child, row + 1); }
    if (card) { return; }
    if (columns_ == first) { ++columns_; }
    column_[v] = (first + columns_ - 1) / 2;
  }

  std::vector<VertexId> below(VertexId v) const {
    std::vector<VertexId> found;
    for (const Link* link : links_) {
      if (link->kind == LinkKind::nvlink || (link->a != v && link->b != v)) { continue; }
      const VertexId other = link->a == v ? link->b : link->a;
      const bool lower = rank_of(kind(other)) < rank_of(kind(v)) ||
                         (kind(v) == VertexKind::pcie_switch && kind(other) == kind(v)) ||
                         (kind(v) == VertexKind::device && kind(other) == VertexKind::nic);
      if (in_tree(kind(other)) && lower && !column_.contains(other)) { found.push_back(other); }
    }
    return found;
  }

  /// Cards share the lowest row; rows that stay empty vanish.
  void level() {
    int cards = 0;
    for (const auto& [v, row] : row_) { cards = std::max(cards, row); }
    for (auto& [v, row] : row_) {
      if (rank_of(kind(v)) == 0) { row = cards; }
    }
    std::map<int, int> used;
    for (const auto& [v, row] : row_) { used[row] = 0; }
    int next = 0;
    for (auto& [row, compact] : used) { compact = next++; }
    for (auto& [v, row] : row_) { row = used[row]; }
    card_row_ = next - 1;
    for (const VertexId v : vertices_) {
      if (kind(v) == VertexKind::host_memory) { memory_above_ = 1; }
    }
  }

  double x(VertexId v) const { return kMargin + (column_.at(v) + 0.5) * kColumn; }
  double y(VertexId v) const { return row_y(row_.at(v)); }
  double row_y(int row) const {
    return 2 * kMargin + 10 + (row + memory_above_) * kRow + kBoxHeight / 2;
  }
  double below_cards() const { return row_y(card_row_) + kBoxHeight / 2; }
  double bottom() const { return deepest_ > 0 ? deepest_ : below_cards(); }

  void add_box(VertexId v, double centre_x, double centre_y, const std::string& note) {
    const std::string& name = t_.vertices[index(v)].name;
    panel_.boxes.push_back({centre_x - kBoxWidth / 2, centre_y - kBoxHeight / 2, kBoxWidth,
                            kBoxHeight, name.substr(name.find('/') + 1), note, kind(v), false});
  }

  void add_boxes() {
    for (const auto& [v, column] : column_) { add_box(v, x(v), y(v), note_of(v)); }
    for (const Link* link : links_) {
      const bool a_is_memory = kind(link->a) == VertexKind::host_memory;
      if (!a_is_memory && kind(link->b) != VertexKind::host_memory) { continue; }
      const VertexId memory = a_is_memory ? link->a : link->b;
      const VertexId die = a_is_memory ? link->b : link->a;
      add_box(memory, x(die), y(die) - kRow, "");
      panel_.lines.push_back({x(die), y(die), x(die), y(die) - kRow, 0,
                              link_label(link->bandwidth, 1), link->kind, 1});
    }
    for (const VertexId v : vertices_) {
      if (kind(v) == VertexKind::nvswitch) { add_hub(v); }
    }
  }

  /// A NIC's rate into the network, a cpu's cores.
  std::string note_of(VertexId v) const {
    if (kind(v) == VertexKind::cpu) { return t_.vertices[index(v)].cores; }
    if (kind(v) != VertexKind::nic) { return {}; }
    for (const Link& link : t_.links) {
      if (link.kind == LinkKind::nic && (link.a == v || link.b == v)) {
        return link_label(link.bandwidth, 1);
      }
    }
    return {};
  }

  /// A bar under the devices that are linked to it.
  void add_hub(VertexId hub) {
    double left = 1e9;
    double right = 0;
    std::vector<std::pair<double, const Link*>> ends;
    for (const Link* link : links_) {
      if (link->a != hub && link->b != hub) { continue; }
      const double at = x(link->a == hub ? link->b : link->a);
      ends.emplace_back(at, link);
      left = std::min(left, at);
      right = std::max(right, at);
    }
    if (ends.empty()) { return; }
    const double top = below_cards() + kRow - kBoxHeight;
    for (const auto& [at, link] : ends) {
      panel_.lines.push_back({at, below_cards(), at, top, 0,
                              link_label(link->bandwidth, link->lanes), link->kind, link->lanes});
    }
    const std::string& name = t_.vertices[index(hub)].name;
    panel_.boxes.push_back({left - kBoxWidth / 2, top, right - left + kBoxWidth, kBoxHeight,
                            name.substr(name.find('/') + 1), "", VertexKind::nvswitch, false});
    deepest_ = std::max(deepest_, top + kBoxHeight);
  }

  void add_line(const Link& link) {
    if (!column_.contains(link.a) || !column_.contains(link.b)) { return; }
    const std::string label = link_label(link.bandwidth, link.lanes);
    if (link.kind == LinkKind::nvlink) {
      const double span = std::abs(column_.at(link.a) - column_.at(link.b));
      const double bend = 16 + kArcStep * span;
      panel_.lines.push_back({x(link.a), below_cards(), x(link.b), below_cards(), bend,
                              std::to_string(link.lanes), link.kind, link.lanes});
      deepest_ = std::max(deepest_, below_cards() + bend + 10);
      if (!told_lane_) {
        panel_.texts.push_back({kMargin, kMargin + 18,
                                "arcs: links of a pair, " +
                                    link_label((1.0 / link.lanes) * link.bandwidth, 1) + " each"});
        told_lane_ = true;
      }
      return;
    }
    panel_.lines.push_back({x(link.a), y(link.a), x(link.b), y(link.b), 0, label, link.kind, 1});
  }

  const Topology& t_;
  std::int32_t node_;
  std::vector<VertexId> vertices_;
  std::vector<const Link*> links_;
  std::map<VertexId, double> column_;
  std::map<VertexId, int> row_;
  int columns_ = 0, card_row_ = 0, memory_above_ = 0;
  double deepest_ = 0;
  bool told_lane_ = false;
  Panel panel_;
};

}  // namespace

std::string link_label(BytesPerSecond bandwidth, int strands) {
  if (bandwidth == cost::kUnlimited) { return {}; }
  std::ostringstream out;
  out.precision(3);
  if (strands > 1) { out << strands << " x "; }
  out << bandwidth.value / strands / 1e9 << " GB/s";
  return out.str();
}

Panel node_panel(const cost::Cluster& cluster, int node, int alike) {
  Panel panel = NodeLayout(cluster.topology, node).panel();
  panel.title = "node" + std::to_string(node);
  if (alike > 1) { panel.title += ", and " + std::to_string(alike - 1) + " more like it"; }
  return panel;
}

}  // namespace tsim::sim
