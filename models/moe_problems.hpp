// What dimensions of experts, latent attention and token prediction cannot be. Private to this
// room.
#pragma once

#include <vector>

#include "models/model.hpp"

namespace tsim::models {

/// Problems with config.moe, config.latent and config.mtp_layers; the keys are "moe/experts",
/// "latent/kv_lora_rank" and alike.
std::vector<ConfigProblem> expert_problems(const ModelConfig& config);

}  // namespace tsim::models
