#include "sim/calibrate/check/tsim_measure.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tsim::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "tsim-measure";

/// Beside this program, or by name.
std::string program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = self.parent_path() / kName;
  return !error && access(beside.c_str(), X_OK) == 0 ? beside.string() : kName;
}

}  // namespace

void run_tsim_measure(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) { pointers.push_back(word.data()); }
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, words.front().c_str(), nullptr, nullptr, pointers.data(), environ);
  if (failure == ENOENT) {
    throw std::runtime_error(
        "found no tsim-measure, neither beside tsim nor in the search path; on a machine with CUDA "
        "`cmake --preset calibrate-cuda` and `cmake --build build/calibrate-cuda` make it");
  }
  if (failure != 0) {
    throw std::runtime_error("tsim-measure: " + std::generic_category().message(failure));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("tsim-measure ended without an answer");
  }
}

TemporaryFile::TemporaryFile(const std::string& text) {
  std::string name = (fs::temp_directory_path() / "tsim-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) { throw std::runtime_error("cannot write " + name); }
  close(file);
  path_ = name;
  std::ofstream out(path_);
  out << text;
  if (!out.flush()) { throw std::runtime_error("cannot write " + name); }
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace tsim::calibrate
