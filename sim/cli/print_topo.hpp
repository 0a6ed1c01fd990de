// A cluster's wiring as text, JSON, a drawing or a graph.
#pragma once

#include <iosfwd>

#include "sim/cli/options.hpp"
#include "sim/topo/describe.hpp"

namespace tsim::cli {

/// Matrices in the style of `nvidia-smi topo -m`, bandwidths and latencies; lists of pairs where
/// the options ask for them.
void print_topo_text(const sim::TopologyReport& report, const TopoOptions& options,
                     std::ostream& out);
void print_topo_json(const sim::TopologyReport& report, std::ostream& out);

/// The network between nodes, and the inside of one node of each kind.
void draw_topology(const cost::Cluster& cluster, std::ostream& out);

/// The same vertices and links in Graphviz's language; `all`: of every node.
void print_dot(const cost::Cluster& cluster, bool all, std::ostream& out);

}  // namespace tsim::cli
