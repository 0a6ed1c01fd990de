// Timing of this machine's processor.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tsim::calibrate {

struct CpuRun {
  std::filesystem::path journal;  // measurements; what is there already is not timed again
  std::vector<std::string> work;  // lines, most valuable first
  std::chrono::duration<double> budget{60};
  std::string version;  // of tsim
};

struct CpuDone {
  int measured = 0, kept = 0, skipped = 0;
  bool late = false;  // the budget ended before the work did
};

/// Times each line until the median's interval is narrow, adds it to the journal, and gives the
/// file its name. What a processor cannot do, or has no memory for, is recorded as skipped.
/// Throws std::runtime_error when the journal cannot be written.
CpuDone measure_cpu(const CpuRun& run);

/// Shapes of small layers, copies and element-wise kernels, most valuable first.
std::vector<std::string> cpu_work();

}  // namespace tsim::calibrate
