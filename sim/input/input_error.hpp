// What is wrong with an input, collected so that all of it is told at once.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::sim {

/// One mistake of the user.
struct InputError {
  std::string path = {};      // JSON Pointer, flag, or line:column; empty for the whole file
  std::string found = {};     // what is there
  std::string expected = {};  // the rule; empty when `found` says it all ("unknown key")
  std::string hint = {};      // a remedy; may be empty
  std::string file = {};      // the file, when it is not the one that was asked for
  bool operator==(const InputError&) const = default;
};

/// One line: `/layout: found 96, expected 128 (devices); hint: data = 4 gives 128`.
std::string to_text(const InputError& error);

/// All mistakes of one input. Nothing was simulated.
class InputErrors : public std::exception {
 public:
  InputErrors(std::string file, std::vector<InputError> problems);
  const std::string& file() const { return file_; }
  const std::vector<InputError>& problems() const { return problems_; }
  /// `FILE: 4 problems, nothing was simulated` and one indented line for each.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string file_;
  std::vector<InputError> problems_;
  std::string text_;
};

/// Collects the problems, and the warnings, of one input while it is read.
class Problems {
 public:
  void add(InputError error);
  /// Accepted, but worth a second look.
  void warn(std::string_view path, std::string_view text);
  bool empty() const { return errors_.empty(); }
  const std::vector<InputError>& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// True when nothing was wrong at, above or below any of `paths` in the main file, so that a rule
  /// over them may be checked.
  bool clean(std::initializer_list<std::string_view> paths) const;

 private:
  std::vector<InputError> errors_;
  std::vector<std::string> warnings_;
};

}  // namespace tsim::sim
