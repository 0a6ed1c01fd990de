// What a fit may change, and what it is fitted to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/input/quantity.hpp"

namespace tsim::validate {

/// A figure of a device file, within bounds.
struct FitParameter {
  std::string at;                           // JSON Pointer: "/gemm/ceiling"
  std::string meaning;                      // in words, with its unit
  std::optional<sim::Dimension> dimension;  // none: a plain number
  double start = 0;                         // the device file's
  double least = 0, most = 0;
};

/// Rows of a source whose id contains `match`; all when it is empty.
struct FitRows {
  std::string source;
  std::string match;
};

/// A declared training split.
struct Split {
  std::string name{};    // of its file
  std::string device{};  // name or path
  std::vector<FitParameter> parameters{};
  std::vector<FitRows> train{};
};

/// A device's record of its fit: rows as SOURCE/ROW.
struct FitRecord {
  std::string split{};
  std::vector<std::string> rows{};
};

}  // namespace tsim::validate
