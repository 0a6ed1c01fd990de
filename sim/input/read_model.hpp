// Models: named, inline, a changed base, or a file.
#pragma once

#include <filesystem>

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// Bounds of a model's dimensions: far above anything that was trained, and low enough for every
/// count of bytes and FLOPs of a layer to fit.
namespace limits {
inline constexpr Range kLayers{1, 2'000};
inline constexpr Range kHidden{1, 1'000'000};
inline constexpr Range kHeads{1, 100'000};
inline constexpr Range kHeadDim{1, 100'000};
inline constexpr Range kFfn{1, 10'000'000};
inline constexpr Range kVocab{1, 100'000'000};
inline constexpr Range kSequence{1, 10'000'000};
inline constexpr Range kPixels{1, 100'000};
inline constexpr Range kChannels{1, 10'000};
inline constexpr std::int64_t kAttentionWidth = 10'000'000;  // heads * head_dim
}  // namespace limits

/// The model at `place`: a name, the path of a Hugging Face config.json (or of a file with an
/// inline object), an inline object, or {"base": one of these, ...}.
models::ModelConfig read_model(const Place& place, const std::filesystem::path& scenario_folder);

/// A model by name or path for commands that have no scenario. Throws InputErrors.
models::ModelConfig read_model(std::string_view name_or_path);

}  // namespace tsim::sim
