// Dimension-order routes through a torus.
#pragma once

#include "cost/routing/graph_search.hpp"

namespace tsim::cost {

/// Whether `v` is one of the torus's routers.
bool is_torus_router(const TorusRouters& torus, VertexId v);

/// From router to router along the first dimension that differs, the shorter way round (upwards
/// when both are equally long), then the next.
Route torus_route(const Topology& topology, const GraphSearch& graph, VertexId from, VertexId to);

}  // namespace tsim::cost
