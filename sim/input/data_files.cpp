#include "sim/input/data_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestName = 200;  // file systems refuse more

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

fs::path data_folder() {
  const char* const set = std::getenv("TSIM_DATA_DIR");
  if (set != nullptr && *set != '\0') { return set; }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / TSIM_DATA_SUBDIR;
  const bool is_installed = program.parent_path().filename() == "bin";  // PREFIX/bin/tsim
  return is_installed && fs::is_directory(installed, error) ? installed : fs::path(TSIM_DATA_DIR);
}

std::vector<fs::path> search_folders(std::string_view kind, const fs::path& scenario_folder) {
  return {scenario_folder / kind, scenario_folder / ".." / kind, data_folder() / kind};
}

bool looks_like_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json");
}

std::optional<fs::path> find_path(std::string_view written, const fs::path& scenario_folder) {
  if (written.find('\0') != std::string_view::npos) { return std::nullopt; }
  const fs::path path(written);
  std::error_code error;
  const fs::path near = scenario_folder / path;  // an absolute path stays as it is
  if (fs::exists(near, error)) { return near.lexically_normal(); }
  if (fs::exists(path, error)) { return path.lexically_normal(); }
  return std::nullopt;
}

std::optional<fs::path> find_named(std::string_view name, std::string_view kind,
                                   const fs::path& scenario_folder) {
  if (name.size() > kLongestName || name.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  for (const fs::path& folder : search_folders(kind, scenario_folder)) {
    const fs::path path = folder / (std::string(name) + ".json");
    if (is_file(path)) { return path.lexically_normal(); }
  }
  return std::nullopt;
}

std::vector<std::string> names_in(std::string_view kind, const fs::path& scenario_folder) {
  std::set<std::string> names;
  for (const fs::path& folder : search_folders(kind, scenario_folder)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const fs::path& path = entry.path();
      const bool points = path.stem().extension() == ".points";  // beside the device they are of
      if (path.extension() == ".json" && !points) { names.insert(path.stem().string()); }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tsim::sim
