// Files that are either written whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <stdexcept>

namespace tsim::cli {

/// A file could not be written; what() names it and the reason.
struct NotWritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls `write` with a stream to a new file beside `path` and then gives it the name `path`. When
/// anything fails, `path` is what it was before and nothing is left beside it. A `path` that is no
/// ordinary file (/dev/stdout, a pipe) is written directly.  Throws NotWritable.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

}  // namespace tsim::cli
