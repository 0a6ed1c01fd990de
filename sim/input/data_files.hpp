// Where the files are that inputs name: devices, clusters, model configurations.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::sim {

/// The folder of data files that come with tsim: the environment's TSIM_DATA_DIR, else the one that
/// was installed with the program, else the source tree's.
std::filesystem::path data_folder();

/// Folders in which files of a `kind` ("devices", "clusters") are looked for by name, nearest
/// first: ./KIND and ../KIND as seen from the scenario's folder, then the data folder's KIND.
std::vector<std::filesystem::path> search_folders(std::string_view kind,
                                                  const std::filesystem::path& scenario_folder);

/// Whether `text` is meant as a path and not as a name.
bool looks_like_path(std::string_view text);

/// The file that `written` means: relative to the scenario's folder, else to the working folder.
std::optional<std::filesystem::path> find_path(std::string_view written,
                                               const std::filesystem::path& scenario_folder);

/// The file NAME.json in the first of the search folders that has it.
std::optional<std::filesystem::path> find_named(std::string_view name, std::string_view kind,
                                                const std::filesystem::path& scenario_folder);

/// Names of all files of a kind, sorted, each once.
std::vector<std::string> names_in(std::string_view kind,
                                  const std::filesystem::path& scenario_folder);

}  // namespace tsim::sim
