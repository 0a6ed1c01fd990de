// The program that measures on NVIDIA devices, run from here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tsim::calibrate {

/// Runs `tsim-measure ARGUMENTS...`, the one beside this program, else the one that the search path
/// finds; its output goes where this program's goes. Throws std::runtime_error with the reason when
/// there is none or it fails.
void run_tsim_measure(const std::vector<std::string>& arguments);

/// A file of the system's folder for temporary ones that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tsim::calibrate
