// Named vision models with stages. Private to this room: the registry lists them.
#pragma once

#include <vector>

#include "models/model.hpp"

namespace tsim::models {

std::vector<ModelConfig> swin_models();

}  // namespace tsim::models
