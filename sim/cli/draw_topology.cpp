#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/cli/print_topo.hpp"
#include "sim/topo/layout.hpp"

namespace tsim::cli {
namespace {

using cost::LinkKind;
using cost::VertexKind;
using sim::DrawnBox;
using sim::DrawnLine;
using sim::Panel;

constexpr double kGap = 20;

const char* fill_of(const DrawnBox& box) {
  if (box.whole_node) { return "#f4f4f0"; }
  switch (box.kind) {
    case VertexKind::device: return "#cfe8cf";
    case VertexKind::nvswitch: return "#e2d4f0";
    case VertexKind::nic: return "#fde3c0";
    case VertexKind::network_switch: return "#d5e5f7";
    case VertexKind::cpu:
    case VertexKind::host_bridge:
    case VertexKind::host_memory: return "#e8e8e8";
    case VertexKind::pcie_switch:
    case VertexKind::nvme: return "#ffffff";
  }
  return "#ffffff";
}

const char* colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink: return "#5b3a8c";
    case LinkKind::socket: return "#b03a2e";
    case LinkKind::fabric:
    case LinkKind::nic: return "#3a6ea5";
    default: return "#555555";
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

void print_text(std::ostream& out, double x, double y, const std::string& text,
                const std::string& attributes) {
  out << "<text x=\"" << x << "\" y=\"" << y << "\" " << attributes << ">" << escaped(text)
      << "</text>\n";
}

/// Nearer to the lower end of a slanted line, where lines that fan out are apart.
void print_label(std::ostream& out, const DrawnLine& line) {
  if (line.label.empty()) { return; }
  const double share = line.x1 == line.x2 || line.bend != 0 || line.y1 == line.y2 ? 0.5
                       : line.y1 > line.y2                                        ? 0.34
                                                                                  : 0.66;
  const double x = line.x1 + share * (line.x2 - line.x1);
  const double sag = line.bend > 0 ? 0.75 * line.bend : 0;
  const double y = line.y1 + share * (line.y2 - line.y1) + sag;
  const double width = 5.6 * static_cast<double>(line.label.size()) + 4;
  out << "<rect x=\"" << x - width / 2 << "\" y=\"" << y - 7
      << R"(" height="13" fill="white" fill-opacity="0.9" width=")" << width << "\"/>\n";
  print_text(
      out, x, y + 3.5, line.label,
      R"(font-size="10" text-anchor="middle" fill=")" + std::string(colour_of(line.kind)) + "\"");
}

void print_line(std::ostream& out, const DrawnLine& line) {
  const double width = line.kind == LinkKind::nvlink ? std::min(4.0, 0.6 + 0.9 * line.strands)
                                                     : std::min(3.0, 1 + 0.2 * (line.strands - 1));
  const bool steep = std::abs(line.y1 - line.y2) > 0 && line.bend != 0;
  out << "<path d=\"M" << line.x1 << "," << line.y1;
  if (steep) {  // from top to bottom round what lies between: to the left
    const double left = std::min(line.x1, line.x2) - 80;
    out << " C" << left << "," << line.y1 << " " << left << "," << line.y2 << " ";
  } else if (line.bend != 0) {
    const double y = line.y1 + line.bend;
    out << " C" << line.x1 << "," << y << " " << line.x2 << "," << y << " ";
  } else {
    out << " L";
  }
  out << line.x2 << "," << line.y2 << R"(" fill="none" stroke=")" << colour_of(line.kind)
      << "\" stroke-width=\"" << width << "\"/>\n";
}

void print_box(std::ostream& out, const DrawnBox& box) {
  out << "<rect x=\"" << box.x << "\" y=\"" << box.y << "\" width=\"" << box.width << "\" height=\""
      << box.height << R"(" rx="5" stroke="#444" fill=")" << fill_of(box) << "\"/>\n";
  const double middle = box.x + box.width / 2;
  const bool two = !box.note.empty();
  print_text(out, middle, box.y + box.height / 2 + (two ? -3 : 4), box.label,
             R"(font-size="12" text-anchor="middle")");
  if (two) {
    print_text(out, middle, box.y + box.height / 2 + 12, box.note,
               R"(font-size="10" text-anchor="middle" fill="#555")");
  }
}

void print_panel(std::ostream& out, const Panel& panel, double top) {
  out << "<g transform=\"translate(0," << top << ")\">\n<rect x=\"6\" y=\"2\" width=\""
      << panel.width - 12 << "\" height=\"" << panel.height - 4
      << "\" rx=\"8\" fill=\"none\" stroke=\"#bbb\"/>\n";
  print_text(out, 18, 22, panel.title, R"(font-size="13" font-weight="bold")");
  for (const DrawnLine& line : panel.lines) { print_line(out, line); }
  for (const DrawnBox& box : panel.boxes) { print_box(out, box); }
  for (const DrawnLine& line : panel.lines) { print_label(out, line); }
  for (const sim::DrawnText& text : panel.texts) {
    print_text(out, text.x, text.y, text.text, R"(font-size="11" fill="#555")");
  }
  out << "</g>\n";
}

std::vector<Panel> panels_of(const cost::Cluster& cluster) {
  std::vector<Panel> panels;
  if (cluster.nodes > 1) { panels.push_back(sim::network_panel(cluster)); }
  for (const auto& [node, alike] : sim::nodes_to_show(cluster, false)) {
    panels.push_back(sim::node_panel(cluster, node, alike));
  }
  return panels;
}

}  // namespace

void draw_topology(const cost::Cluster& cluster, std::ostream& out) {
  const std::vector<Panel> panels = panels_of(cluster);
  double width = 320;
  double height = 44;
  for (const Panel& panel : panels) {
    width = std::max(width, panel.width);
    height += panel.height + kGap;
  }
  out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << width << "\" height=\"" << height
      << "\" viewBox=\"0 0 " << width << " " << height
      << "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  print_text(out, 12, 28, cluster.name, R"(font-size="17" font-weight="bold")");
  double top = 44;
  for (const Panel& panel : panels) {
    print_panel(out, panel, top);
    top += panel.height + kGap;
  }
  out << "</svg>\n";
}

}  // namespace tsim::cli
