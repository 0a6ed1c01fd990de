// The keys of low-rank adapters in an inline model.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Sets what the object at `place` states of model.lora; nothing there changes nothing.
void read_lora(const Place& place, models::LoraConfig& lora);

}  // namespace tsim::sim
