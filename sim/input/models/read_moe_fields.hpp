// The keys of experts and of latent attention in an inline model.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Sets what the object at `place` states of model.moe; nothing there changes nothing. An expert
/// has the model's ffn columns unless it or the base tells others.
void read_moe(const Place& place, models::ModelConfig& model);

/// The same for latent attention.
void read_latent(const Place& place, models::LatentAttention& latent);

}  // namespace tsim::sim
