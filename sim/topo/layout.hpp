// Where the parts of a drawing of a cluster are: positions and texts, no format.
#pragma once

#include <string>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::sim {

/// A box with up to two lines of text. Distances are in pixels, y downwards.
struct DrawnBox {
  double x = 0, y = 0, width = 0, height = 0;  // upper left corner
  std::string label, note;
  cost::VertexKind kind{};
  bool whole_node = false;  // stands for a node
};

/// A line between two points; `bend` > 0 lets it sag by so much, < 0 rise.
struct DrawnLine {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0, bend = 0;
  std::string label;
  cost::LinkKind kind{};
  int strands = 1;  // links that it stands for
};

struct DrawnText {
  double x = 0, y = 0;
  std::string text;
};

struct Panel {
  std::string title;
  double width = 0, height = 0;
  std::vector<DrawnBox> boxes;
  std::vector<DrawnLine> lines;
  std::vector<DrawnText> texts;
};

/// "25 GB/s", "2 x 25 GB/s" of two lanes or links; empty when it never limits.
std::string link_label(BytesPerSecond bandwidth, int strands);

/// The inside of a node: its PCIe tree above its cards, what links devices besides below them.
Panel node_panel(const cost::Cluster& cluster, int node, int alike);

/// Nodes as boxes under their switches, in rows by distance; a torus as a grid. Of many nodes the
/// first ones are drawn.
Panel network_panel(const cost::Cluster& cluster);

}  // namespace tsim::sim
