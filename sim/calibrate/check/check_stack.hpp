// A prediction against a small stack that was really trained.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/stack/stack_shape.hpp"
#include "sim/input/input_error.hpp"
#include "sim/report/report.hpp"

namespace tsim::calibrate {

/// The stack that a scenario asks for; what a stack cannot be goes to `problems`.
StackShape stack_of(const sim::Scenario& scenario, sim::Problems& problems);

/// A step that was measured, by tsim-measure or on this machine's processor.
struct MeasuredStack {
  StackShape shape;
  StackTimes times;
  std::string device;  // what the machine calls it
};

/// Reads the line that stack_line() writes.
MeasuredStack read_measured_stack(const std::filesystem::path& file, sim::Problems& problems);

struct CheckRow {
  std::string what;
  double predicted = 0, measured = 0;  // seconds or bytes
  /// (predicted - measured) / measured; none when nothing was measured
  std::optional<double> error() const {
    return measured > 0 ? std::optional(predicted / measured - 1) : std::nullopt;
  }
};

struct Check {
  std::vector<CheckRow> classes;  // that either has
  CheckRow step, memory;
};

/// `report` has all lookups.
Check compare(const sim::Report& report, const StackTimes& measured);

}  // namespace tsim::calibrate
