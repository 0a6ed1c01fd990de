// Routes that a graph states instead of leaving them to the search for the shortest.
#pragma once

#include "cost/topology.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// {"devices": [[place, [links up], [links down]], ...], "between": [[from place, to place,
/// [links], latency], ...]}: links by their numbers in "links", in order of travel; the latency is
/// beyond theirs and may be left out. Links must be half duplex, and every two places that devices
/// may talk across must have an entry. Nothing is no routes.
cost::FixedRoutes read_routes(const Place& place, const cost::Topology& topology);

Json to_json(const cost::FixedRoutes& routes);

}  // namespace tsim::sim
