// The project's own files as text, for tests that hold them to the project's rules.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::structure {

struct File {
  std::string path;  // "models/model.hpp"
  std::string text;
};

inline bool is_cpp(std::string_view path) {
  return path.ends_with(".hpp") || path.ends_with(".cpp");
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All files below `folders`, sorted by path.
inline std::vector<File> files_in(std::initializer_list<std::string_view> folders) {
  namespace fs = std::filesystem;
  const fs::path root = TSIM_SOURCE_DIR;
  std::vector<File> files;
  for (const std::string_view folder : folders) {
    if (!fs::exists(root / folder)) { continue; }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) { continue; }
      files.push_back({entry.path().lexically_relative(root).string(), text_of(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

/// The rooms' C++ files.
inline std::vector<File> room_files() {
  std::vector<File> files = files_in({"models", "cost", "strategies", "sim"});
  std::erase_if(files, [](const File& file) { return !is_cpp(file.path); });
  return files;
}

/// Everything that belongs to the project: the known folders and the files beside them.
inline std::vector<File> project_files() {
  namespace fs = std::filesystem;
  std::vector<File> files = files_in({"models", "cost", "strategies", "sim", "scenarios", "tests",
                                      "plots", "docs", "cmake", "completions", ".ci", ".github"});
  const fs::path root = TSIM_SOURCE_DIR;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    // In a worktree .git is a file that names a folder of the machine.
    if (entry.is_regular_file() && name != ".git" && name != "compile_commands.json") {
      files.push_back({name, text_of(entry.path())});
    }
  }
  return files;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return lines;
}

/// One line for each, so that a failed check shows them.
inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) { text += line + "\n"; }
  return text;
}

/// Names in `#include "..."` (own) or `#include <...>` lines.
inline std::vector<std::string> includes_of(const File& file, char open, char close) {
  std::vector<std::string> names;
  const std::string start = std::string("#include ") + open;
  for (const std::string& line : lines_of(file.text)) {
    if (!line.starts_with(start)) { continue; }
    names.push_back(line.substr(start.size(), line.find(close, start.size()) - start.size()));
  }
  return names;
}

}  // namespace tsim::structure
