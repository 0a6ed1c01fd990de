#include "sim/cli/write_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

namespace tsim::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& reason) {
  throw NotWritable("cannot write " + path.string() + ": " + reason.message());
}

std::error_code last_error() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

void write_directly(const fs::path& path, const fs::path& shown_as,
                    const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) { fail(shown_as, last_error()); }
  write(file);
  file.close();
  if (!file) { fail(shown_as, last_error()); }
}

/// Removes a file at the end of its scope unless it was kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;  // nothing was made, or nothing can be done
    fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::error_code missing;
  // A link stays a link: what it leads to is replaced.
  fs::path target = fs::canonical(path, missing);
  if (missing) { target = path; }
  const fs::file_status status = fs::status(target, missing);
  if (fs::is_directory(status)) { fail(path, std::make_error_code(std::errc::is_a_directory)); }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    write_directly(target, path, write);
    return;
  }
  fs::path beside = target;
  beside += "." + std::to_string(::getpid()) + ".part";
  const TemporaryFile temporary(std::move(beside));
  write_directly(temporary.path(), path, write);
  std::error_code failure;
  fs::rename(temporary.path(), target, failure);
  if (failure) { fail(path, failure); }
}

}  // namespace tsim::cli
