// The list of models known by name.
#pragma once

#include <iosfwd>
#include <span>

#include "models/model.hpp"

namespace tsim::cli {

void print_models_text(std::span<const models::ModelConfig> models, std::ostream& out);

/// {"version": 1, "models": [{"name": ..., "parameters": ..., "source": ...}, ...]}
void print_models_json(std::span<const models::ModelConfig> models, std::ostream& out);

}  // namespace tsim::cli
