// Over how many nodes a token's experts lie. Private to this folder.
#pragma once

#include "models/routing/routing.hpp"

namespace tsim::models {

/// Mean number of distinct nodes of a token's experts.
double nodes_per_token(const RoutingSpec& spec, const RoutingInput& in);

}  // namespace tsim::models
