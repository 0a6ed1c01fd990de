// Where tokens of experts go, as scenarios and recorded files state it.
#pragma once

#include <filesystem>

#include "models/routing/routing.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The object at `place`; the default routing (dropless and even) when nothing is there. Files are
/// relative to the scenario's `folder`. What only the model can tell is for check_routing().
models::RoutingSpec read_routing(const Place& place, const std::filesystem::path& folder);

/// Tells what of the routing at `path` (a JSON Pointer) the model's layers and experts contradict.
/// `nodes` hold the experts; 0: not known.
void check_routing(const models::RoutingSpec& spec, const models::ModelConfig& model,
                   const std::string& path, Problems& problems, int nodes = 0);

}  // namespace tsim::sim
