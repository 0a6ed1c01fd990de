#include <ostream>
#include <set>

#include "sim/cli/format.hpp"
#include "sim/cli/print_topo.hpp"

namespace tsim::cli {
namespace {

using cost::Topology;
using cost::VertexKind;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

const char* shape_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::device: return "shape=box style=filled fillcolor=\"#cfe8cf\"";
    case VertexKind::nvswitch: return "shape=hexagon style=filled fillcolor=\"#e2d4f0\"";
    case VertexKind::pcie_switch: return "shape=diamond";
    case VertexKind::host_bridge: return "shape=triangle";
    case VertexKind::host_memory: return "shape=cylinder";
    case VertexKind::nic: return R"(shape=box style="filled,rounded" fillcolor="#fde3c0")";
    case VertexKind::network_switch: return "shape=ellipse style=filled fillcolor=\"#d5e5f7\"";
    case VertexKind::nvme: return "shape=folder";
    case VertexKind::cpu: return "shape=octagon";
  }
  return "";
}

/// Names in quotes, with what would end them marked.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; }
    out += c;
  }
  return out + "\"";
}

std::string label_of(const cost::Link& link) {
  std::string text = link.bandwidth == cost::kUnlimited
                         ? ""
                         : significant(link.bandwidth.value / 1e9, 3) + " GB/s";
  if (link.lanes > 1) { text += " (" + std::to_string(link.lanes) + "x)"; }
  return text;
}

}  // namespace

namespace {

void print_vertices(const Topology& t, std::int32_t node, const char* indent, std::ostream& out) {
  for (const cost::Vertex& v : t.vertices) {
    const bool here = node < 0 ? v.node < 0 : v.node == node;
    if (here) { out << indent << quoted(v.name) << " [" << shape_of(v.kind) << "];\n"; }
  }
}

}  // namespace

void print_dot(const cost::Cluster& cluster, bool all, std::ostream& out) {
  const Topology& t = cluster.topology;
  std::set<std::int32_t> nodes;
  for (const sim::NodeChoice& choice : sim::nodes_to_show(cluster, all)) {
    nodes.insert(choice.node);
  }
  out << "graph " << quoted(cluster.name) << " {\n  layout=dot; splines=true;\n";
  for (const std::int32_t node : nodes) {
    out << "  subgraph \"cluster_node" << node << "\" {\n    label=\"node" << node << "\";\n";
    print_vertices(t, node, "    ", out);
    out << "  }\n";
  }
  print_vertices(t, -1, "  ", out);
  // A node whose inside is not written is one vertex.
  const auto end = [&](cost::VertexId v) {
    const cost::Vertex& vertex = t.vertices[index(v)];
    const bool shown = vertex.node < 0 || nodes.contains(vertex.node);
    return shown ? vertex.name : "node" + std::to_string(vertex.node);
  };
  for (const cost::Link& link : t.links) {
    const std::string a = end(link.a);
    const std::string b = end(link.b);
    if (a != b) {
      out << "  " << quoted(a) << " -- " << quoted(b) << " [label=" << quoted(label_of(link))
          << "];\n";
    }
  }
  out << "}\n";
}

}  // namespace tsim::cli
