// The simple form of a cluster: equal nodes, a few figures each.
#pragma once

#include <filesystem>

#include "cost/build_cluster.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The cluster that `in` holds. Only to be built when no problem was found.
cost::ClusterSpec read_spec(Reader& in, const std::filesystem::path& folder);

}  // namespace tsim::sim
