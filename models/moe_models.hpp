// Named models with experts. Private to this room: the registry lists them.
#pragma once

#include <vector>

#include "models/model.hpp"

namespace tsim::models {

std::vector<ModelConfig> moe_models();

}  // namespace tsim::models
