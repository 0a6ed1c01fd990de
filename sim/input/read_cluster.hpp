// Clusters: inline, in a file, or a file with changes; in few figures, part by part, or as a graph.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <variant>

#include "cost/build_cluster.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// A cluster as it was stated. A graph's derived members are not filled.
using ClusterInput = std::variant<cost::ClusterSpec, cost::ClusterDesign, cost::Cluster>;

/// What is stated at `place`: an object, the name or path of a cluster file, or
/// {"base": file, ...}. "vertices" make it a graph, a list of "nodes" a design. Only to be used
/// when no problem was found.
ClusterInput read_cluster_input(const Place& place, const std::filesystem::path& scenario_folder);

/// Devices in it; 0 when what is wrong at /cluster leaves that open.
std::int64_t stated_devices(const ClusterInput& input, const Problems& problems);

/// All its wiring. What was read without a problem may still not be buildable, or in pieces: these
/// are problems at `place`, and then there are no devices.
cost::Cluster build_cluster(ClusterInput input, const Place& place);

/// Both at once.
cost::Cluster read_cluster(const Place& place, const std::filesystem::path& scenario_folder);

/// A cluster by name or path for commands that have no scenario, with some of its values set by
/// `/json/pointer=value`. Throws InputErrors.
cost::Cluster read_cluster(std::string_view name_or_path,
                           std::span<const std::string> settings = {});

}  // namespace tsim::sim
