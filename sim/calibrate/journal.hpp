// The file of measurements: one JSON object a line, first what was measured on, then a line for
// each thing timed. Written beside its final name and renamed; what was measured before is kept.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tsim::calibrate {

/// A JSON object under construction; texts are escaped.
class Object {
 public:
  Object& text(std::string_view key, std::string_view value);
  Object& number(std::string_view key, double value);
  Object& numbers(std::string_view key, const std::vector<double>& values);
  std::string str() const { return "{" + body_ + "}"; }

 private:
  void key(std::string_view name);
  std::string body_;
};

class Journal {
 public:
  /// Takes over what `file` (or an interrupted run's part of it) holds; `header` is its new first
  /// line. Throws std::runtime_error when the file is something else or cannot be written.
  Journal(std::filesystem::path file, const std::string& header);
  /// Whether a line with this work is there already.
  bool has(const std::string& work) const { return done_.contains(work); }
  /// Appends and flushes.
  void add(const std::string& work, const std::string& line);
  /// Gives the file its name.
  void finish();

 private:
  std::filesystem::path file_, part_;
  std::set<std::string> done_;
  std::ofstream out_;
};

}  // namespace tsim::calibrate
