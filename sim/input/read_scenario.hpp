// Scenario files: from text to a question that can be simulated.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/input/input_error.hpp"
#include "sim/input/read_document.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// The scenario in the file at `path`, with `overrides` ("/json/pointer=value") set over it, and
/// its variants. Throws InputErrors with everything that is wrong; then nothing may be simulated.
ScenarioFile read_scenario_file(const std::filesystem::path& path,
                                std::span<const std::string> overrides = {});

/// The same from text; `file` names it in messages, other files are looked for beside it.
ScenarioFile read_scenario_text(std::string_view text, const std::filesystem::path& file,
                                std::span<const std::string> overrides = {});

/// The scenario of a document whose degrees, batches and the like are yet to be chosen: what each
/// part says has to be right, the rules between them are not looked at. Only whole when nothing was
/// added to `problems`.
Scenario read_open_scenario(const Json& document, const std::filesystem::path& file,
                            Problems& problems);

}  // namespace tsim::sim
