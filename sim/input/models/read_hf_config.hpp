// Hugging Face config.json files of dense Transformers.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The model that a Hugging Face configuration describes. Keys that do not change dimensions are
/// ignored, missing and null ones take the defaults of the library's configuration class for the
/// same model_type; a model_type that is absent is told from the architecture or the keys.
models::ModelConfig read_hf_config(const Json& document, const Source& source);

}  // namespace tsim::sim
