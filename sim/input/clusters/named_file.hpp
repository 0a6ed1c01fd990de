// Parts of a cluster that live in files of their own.
#pragma once

#include <filesystem>
#include <optional>

#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// What is kept in one folder of files and how messages call it: {"clusters", "cluster"}.
struct FileKind {
  std::string_view folder;
  std::string_view name;
};
inline constexpr FileKind kClusterFiles{"clusters", "cluster"};
inline constexpr FileKind kNodeFiles{"nodes", "node"};

/// A file's document and its place on disk.
struct NamedFile {
  std::filesystem::path path;
  Json document;
};

/// The file that the text at `place` names or is the path of; none, and a problem, when it cannot
/// be read.
std::optional<NamedFile> open_named(const Place& place, FileKind kind,
                                    const std::filesystem::path& folder);

}  // namespace tsim::sim
