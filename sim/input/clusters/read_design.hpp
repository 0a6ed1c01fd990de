// Clusters that are stated part by part: nodes, the network between them, the library's tuning.
#pragma once

#include <filesystem>

#include "cost/build_cluster.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

inline constexpr std::int64_t kMostDevices = 100'000;  // memory of a machine, not a rule of nature
inline constexpr double kMostLinks = 2e6;              // the same

/// Kinds of device: "device" for a single one, or the list "kinds", whose names differ.
std::vector<cost::Device> read_kinds(Reader& in, const std::filesystem::path& folder);

/// "host_launch" and "host_collective": of the cluster's hosts, in the place of the device files'.
void read_host_times(Reader& in, std::span<cost::Device> devices);

/// The cluster that `in` holds. Only to be built when no problem was found.
cost::ClusterDesign read_design(Reader& in, const std::filesystem::path& folder);

/// Links that a design makes.
double link_count(const cost::ClusterDesign& design);

}  // namespace tsim::sim
