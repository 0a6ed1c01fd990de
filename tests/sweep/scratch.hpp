// A database that is gone at the end of a test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tsim::sim::testing {

class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {
    clear();
  }
  ~Scratch() { clear(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  void clear() const {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(path_.string() + end, ignored);
    }
  }
  std::filesystem::path path_;
};

}  // namespace tsim::sim::testing
