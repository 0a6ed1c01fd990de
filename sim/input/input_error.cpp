#include "sim/input/input_error.hpp"

#include <algorithm>
#include <utility>

namespace tsim::sim {
namespace {

/// True when `inner` is `outer` or lies below it.
bool lies_in(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

/// Problems of the file that was asked for need not name it again.
std::vector<InputError> without_file(const std::string& file, std::vector<InputError> problems) {
  for (InputError& problem : problems) {
    if (problem.file == file) { problem.file.clear(); }
  }
  return problems;
}

std::string summary(const std::string& file, const std::vector<InputError>& problems) {
  std::string text = file + ": " + std::to_string(problems.size()) +
                     (problems.size() == 1 ? " problem" : " problems") + ", nothing was simulated";
  for (const InputError& problem : problems) { text += "\n  " + to_text(problem); }
  return text;
}

}  // namespace

std::string to_text(const InputError& error) {
  std::string text;
  if (!error.file.empty()) { text += error.file + ": "; }
  if (!error.path.empty()) { text += error.path + ": "; }
  text += error.expected.empty() ? error.found
                                 : "found " + error.found + ", expected " + error.expected;
  if (!error.hint.empty()) { text += "; hint: " + error.hint; }
  return text;
}

InputErrors::InputErrors(std::string file, std::vector<InputError> problems)
    : file_(std::move(file)),
      problems_(without_file(file_, std::move(problems))),
      text_(summary(file_, problems_)) {}

void Problems::add(InputError error) {
  if (std::find(errors_.begin(), errors_.end(), error) == errors_.end()) {
    errors_.push_back(std::move(error));
  }
}

void Problems::warn(std::string_view path, std::string_view text) {
  warnings_.push_back(std::string(path) + ": " + std::string(text));
}

bool Problems::clean(std::initializer_list<std::string_view> paths) const {
  return std::none_of(errors_.begin(), errors_.end(), [&](const InputError& error) {
    return std::any_of(paths.begin(), paths.end(), [&](std::string_view path) {
      return error.file.empty() && (lies_in(error.path, path) || lies_in(path, error.path));
    });
  });
}

}  // namespace tsim::sim
