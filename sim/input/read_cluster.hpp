// Clusters: inline, in a file, or a file with changes.
#pragma once

#include <filesystem>

#include "cost/build_cluster.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The cluster at `place`: an object, the name or path of a cluster file, or {"base": file, ...}.
/// Only to be built when no problem was found.
cost::ClusterSpec read_cluster(const Place& place, const std::filesystem::path& scenario_folder);

/// A cluster by name or path for commands that have no scenario. Throws InputErrors.
cost::ClusterSpec read_cluster(std::string_view name_or_path);

}  // namespace tsim::sim
