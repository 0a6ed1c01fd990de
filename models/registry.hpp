// Models known by name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/model.hpp"

namespace tsim::models {

/// All named models by family, then by series, then by size; each with its source.
std::span<const ModelConfig> registry();

/// The model called `name` (exact), if there is one.
std::optional<ModelConfig> model_named(std::string_view name);

}  // namespace tsim::models
