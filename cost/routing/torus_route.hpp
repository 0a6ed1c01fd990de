// Dimension-order routes through a torus.
#pragma once

#include <span>
#include <vector>

#include "cost/routing/graph_search.hpp"

namespace tsim::cost {

/// Whether `v` is one of the torus's routers.
bool is_torus_router(const TorusRouters& torus, VertexId v);

/// From router to router along the first dimension that differs, the shorter way round (upwards
/// when both are equally long), then the next.
Route torus_route(const Topology& topology, const GraphSearch& graph, VertexId from, VertexId to);

/// What messages between all pairs of routers put on the torus's channels: adds to `loads`, by
/// channel, the bytes `sent[a * n + b]` from the a-th of the n routers to the b-th along
/// torus_route(). Routes that are in the same line in the same dimension on the same way are added
/// up first, so that it takes n^2 steps for each dimension and not one for each link.
void add_torus_loads(const Topology& topology, const GraphSearch& graph, std::vector<double> sent,
                     std::span<double> loads);

}  // namespace tsim::cost
