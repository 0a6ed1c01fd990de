// What a model's low-rank adapters cannot be. Private to this room.
#pragma once

#include <vector>

#include "models/model.hpp"

namespace tsim::models {

/// Problems with config.lora of a model that has no others; the keys are "lora/rank", ...
std::vector<ConfigProblem> lora_problems(const ModelConfig& config);

}  // namespace tsim::models
