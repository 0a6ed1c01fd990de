// Clusters that are stated as a graph: what other programs know of a machine.
#pragma once

#include <filesystem>

#include "cost/topology.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The cluster that `in` holds: "vertices", "links" between them, and "devices" in the order of
/// their numbers. Only to be used when no problem was found.
cost::Cluster read_graph(Reader& in, const std::filesystem::path& folder);

}  // namespace tsim::sim
