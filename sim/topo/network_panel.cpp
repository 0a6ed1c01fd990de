#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "sim/topo/layout.hpp"

namespace tsim::sim {
namespace {

using cost::Link;
using cost::Topology;
using cost::VertexId;
using cost::VertexKind;

constexpr double kColumn = 104, kRow = 110, kBoxWidth = 88, kBoxHeight = 38, kMargin = 24;
constexpr double kNotes = 150;  // left of the rows
constexpr int kMostShown = 40;  // of a row

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// A node (as -1 - number) or a switch (as its vertex).
using Spot = std::int32_t;
Spot spot_of_node(std::int32_t node) { return -1 - node; }

/// What the network's links join, nodes as wholes.
struct Strand {
  Spot a = 0, b = 0;
  int count = 0;
  BytesPerSecond bandwidth{};  // of all together
};

std::vector<Strand> strands_of(const Topology& t) {
  const auto spot = [&](VertexId v) {
    const std::int32_t node = t.vertices[index(v)].node;
    return node >= 0 ? spot_of_node(node) : v;
  };
  std::map<std::pair<Spot, Spot>, Strand> found;
  for (const Link& link : t.links) {
    const auto [a, b] = std::minmax({spot(link.a), spot(link.b)});  // values, not references
    if (a == b) { continue; }
    Strand& strand = found[{a, b}];
    strand = {a, b, strand.count + 1, strand.bandwidth + link.bandwidth};
  }
  std::vector<Strand> strands;
  strands.reserve(found.size());
  for (const auto& [ends, strand] : found) { strands.push_back(strand); }
  return strands;
}

/// By spot: how many links it is away from the nearest node.
std::map<Spot, int> levels_of(const std::vector<Strand>& strands) {
  std::map<Spot, std::vector<Spot>> neighbours;
  std::map<Spot, int> level;
  std::deque<Spot> next;
  for (const Strand& s : strands) {
    neighbours[s.a].push_back(s.b);
    neighbours[s.b].push_back(s.a);
    for (const Spot end : {s.a, s.b}) {
      if (end < 0 && level.emplace(end, 0).second) { next.push_back(end); }
    }
  }
  while (!next.empty()) {
    const Spot at = next.front();
    next.pop_front();
    for (const Spot to : neighbours[at]) {
      if (level.emplace(to, level[at] + 1).second) { next.push_back(to); }
    }
  }
  return level;
}

/// Rows of spots, nodes lowest; the first ones of each.
class RowLayout {
 public:
  explicit RowLayout(const cost::Cluster& cluster)
      : t_(cluster.topology), strands_(strands_of(t_)), level_(levels_of(strands_)) {
    std::erase_if(strands_, [&](const Strand& s) {  // nothing that a node reaches
      return !level_.contains(s.a) || !level_.contains(s.b);
    });
    for (const auto& [spot, level] : level_) {
      rows_.resize(std::max(rows_.size(), index(level) + 1));
      rows_[index(level)].push_back(spot);
    }
    if (!rows_.empty()) { std::ranges::reverse(rows_[0]); }  // node 0 is the largest key
  }

  Panel panel() {
    std::size_t widest = 1;
    for (std::vector<Spot>& row : rows_) {
      hidden_.push_back(row.size() > kMostShown ? row.size() - kMostShown : 0);
      row.resize(std::min<std::size_t>(row.size(), kMostShown));
      widest = std::max(widest, row.size());
    }
    width_ = static_cast<double>(widest) * kColumn;
    top_ = 2 * kMargin + 14 + arcs_height();
    for (std::size_t r = 0; r < rows_.size(); ++r) { add_row(r); }
    for (const Strand& s : strands_) { add_strand(s); }
    add_notes();
    panel_.width = 2 * kMargin + kNotes + width_;
    panel_.height = y(0) + kBoxHeight / 2 + kMargin;
    panel_.title = "network";
    return std::move(panel_);
  }

 private:
  double y(std::size_t level) const {
    return top_ + static_cast<double>(rows_.size() - 1 - level) * kRow + kBoxHeight / 2;
  }

  /// Room for arcs between switches of one row.
  double arcs_height() const {
    for (const Strand& s : strands_) {
      if (level_.at(s.a) == level_.at(s.b)) { return 120; }
    }
    return 0;
  }

  void add_row(std::size_t r) {
    const std::vector<Spot>& row = rows_[r];
    const double step = width_ / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double x = kMargin + kNotes + (static_cast<double>(i) + 0.5) * step;
      x_[row[i]] = x;
      const bool node = row[i] < 0;
      panel_.boxes.push_back(
          {x - kBoxWidth / 2, y(r) - kBoxHeight / 2, kBoxWidth, kBoxHeight,
           node ? "node" + std::to_string(-1 - row[i]) : t_.vertices[index(row[i])].name, "",
           VertexKind::network_switch, node});
    }
    if (hidden_[r] > 0) {
      panel_.texts.push_back(
          {kMargin, y(r) + 14, "+ " + std::to_string(hidden_[r]) + " not drawn"});
    }
  }

  void add_strand(const Strand& s) {
    if (!x_.contains(s.a) || !x_.contains(s.b)) { return; }
    const int la = level_.at(s.a);
    const int lb = level_.at(s.b);
    DrawnLine line{x_[s.a], y(index(la)),           x_[s.b], y(index(lb)), 0,
                   "",      cost::LinkKind::fabric, s.count};
    if (la == lb) {
      line.y1 -= kBoxHeight / 2;
      line.y2 -= kBoxHeight / 2;
      line.bend = -std::min(130.0, 14 + 0.16 * std::abs(line.x1 - line.x2));
    }
    panel_.lines.push_back(line);
  }

  /// Beside each gap between rows: what its lines carry.
  void add_notes() {
    std::map<std::pair<int, int>, std::set<std::string>> carried;
    for (const Strand& s : strands_) {
      const auto ends = std::minmax(level_.at(s.a), level_.at(s.b));
      carried[ends].insert(s.bandwidth == cost::kUnlimited ? "not limited"
                                                           : link_label(s.bandwidth, s.count));
    }
    for (const auto& [ends, texts] : carried) {
      const double middle = (y(index(ends.first)) + y(index(ends.second))) / 2;
      const double at = ends.first == ends.second ? middle - kRow / 2 : middle;
      std::string text = "lines: " + *texts.begin();
      if (texts.size() > 1) { text += " to " + *texts.rbegin(); }
      panel_.texts.push_back({kMargin, at, text});
    }
  }

  const Topology& t_;
  std::vector<Strand> strands_;
  std::map<Spot, int> level_;
  std::vector<std::vector<Spot>> rows_;
  std::vector<std::size_t> hidden_;
  std::map<Spot, double> x_;
  double width_ = 0, top_ = 0;
  Panel panel_;
};

/// Slices of the first two dimensions side by side.
class GridLayout {
 public:
  explicit GridLayout(const cost::Cluster& cluster) : t_(cluster.topology) {
    const auto& sizes = t_.torus.sizes;
    columns_ = sizes[0];
    rows_ = sizes.size() > 1 ? sizes[1] : 1;
  }

  Panel panel() {
    std::map<Spot, std::vector<std::int32_t>> nodes;
    for (const Strand& s : strands_of(t_)) {
      if (s.a < 0) { nodes[s.b].push_back(-1 - s.a); }
      if (s.a >= 0) { add_line(s); }
    }
    int count = 1;
    for (const int size : t_.torus.sizes) { count *= size; }
    for (int i = 0; i < std::min(count, kMostRouters); ++i) {
      const VertexId v = t_.torus.first + i;
      std::string note;
      for (const std::int32_t n : nodes[v]) {
        note += (note.empty() ? "" : ", ") + std::string("node") + std::to_string(n);
      }
      panel_.boxes.push_back({x(i) - kBoxWidth / 2, y(i) - kBoxHeight / 2, kBoxWidth, kBoxHeight,
                              t_.vertices[index(v)].name, note, VertexKind::network_switch, false});
      panel_.width = std::max(panel_.width, x(i) + kBoxWidth / 2 + kMargin + 30);
      panel_.height = std::max(panel_.height, y(i) + kBoxHeight / 2 + kMargin + 30);
    }
    panel_.title = "network: torus, " + rate_ + " a link; curved lines close the rings";
    if (count > kMostRouters) {
      panel_.title += "; " + std::to_string(count - kMostRouters) + " routers not drawn";
    }
    return std::move(panel_);
  }

 private:
  static constexpr int kMostRouters = 256;

  double x(int i) const {
    const int slice = i / (columns_ * rows_);
    return kMargin + 40 + kBoxWidth / 2 + (i % columns_) * (kColumn + 20) +
           slice * (columns_ * (kColumn + 20) + 40) + (i / columns_ % rows_) * 14;
  }
  double y(int i) const { return 3 * kMargin + 30 + kBoxHeight / 2 + (i / columns_ % rows_) * 84; }

  void add_line(const Strand& s) {
    const int a = s.a - t_.torus.first;
    const int b = s.b - t_.torus.first;
    if (std::max(a, b) >= kMostRouters) { return; }
    rate_ = link_label(s.bandwidth, s.count);
    const bool row_wrap = y(a) == y(b) && std::abs(x(a) - x(b)) > kColumn + 21;
    const bool column_wrap = std::abs(y(a) - y(b)) > 85;
    const double bend = row_wrap ? -34 : column_wrap ? 0.001 : 0;
    panel_.lines.push_back({x(a), y(a), x(b), y(b), bend, "", cost::LinkKind::fabric, s.count});
  }

  const Topology& t_;
  int columns_ = 1, rows_ = 1;
  std::string rate_;
  Panel panel_;
};

}  // namespace

Panel network_panel(const cost::Cluster& cluster) {
  if (!cluster.topology.torus.sizes.empty()) { return GridLayout(cluster).panel(); }
  return RowLayout(cluster).panel();
}

}  // namespace tsim::sim
