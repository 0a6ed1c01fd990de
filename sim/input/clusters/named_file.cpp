#include "sim/input/clusters/named_file.hpp"

#include "sim/input/data_files.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;

std::optional<NamedFile> open_named(const Place& place, FileKind kind, const fs::path& folder) {
  const std::string written = read_text(place);
  if (written.empty()) { return std::nullopt; }
  const std::optional<fs::path> path = looks_like_path(written)
                                           ? find_path(written, folder)
                                           : find_named(written, kind.folder, folder);
  if (!path) {
    const std::vector<std::string> names = names_in(kind.folder, folder);
    const std::vector<std::string_view> views(names.begin(), names.end());
    place.fail(in_quotes(written),
               "an object, the path of a " + std::string(kind.name) + " file" +
                   (views.empty() ? "" : " or one of " + join(views)),
               looks_like_path(written) ? "no such file" : did_you_mean(written, views));
    return std::nullopt;
  }
  std::optional<Json> document = read_json_file(*path, *place.source->problems);
  if (!document) { return std::nullopt; }
  return NamedFile{*path, *std::move(document)};
}

}  // namespace tsim::sim
