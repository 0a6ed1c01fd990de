// Files with the experts that tokens went to.
#pragma once

#include <filesystem>

#include "models/routing/routing.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// Fills spec.shares, and spec.routes where the file has tokens. Either one document
///   {"counts": [[rows of expert 0, 1, ..], ..]}              one list for each MoE layer
///   {"experts": E, "routes": [[[expert, ..], ..], ..]}       for each layer, for each token
/// or, in a file that ends in .jsonl, a line for each layer and step:
///   {"layer": 0, "counts": [..]}  or  {"layer": 0, "experts": E, "routes": [[..], ..]}
/// Counts of the same layer add up, and all layers have to route as many rows.
void read_routing_trace(const std::filesystem::path& path, models::RoutingSpec& spec,
                        Problems& problems);

}  // namespace tsim::sim
