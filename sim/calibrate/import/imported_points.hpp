// Measured points out of files that tsim or others wrote.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cost/measured.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::calibrate {

struct ImportedPoint {
  cost::Subject subject{};
  cost::MeasuredPoint point{};
};

struct ImportedPoints {
  std::string format{};  // "measurements of tsim-measure"
  cost::Provenance source{};
  std::vector<ImportedPoint> points{};
  std::vector<std::string> remarks{};  // what was left out, and why
  std::vector<double> slowdowns{};     // of products beside a collective: time / time alone
};

/// Reads a file of measurements; its format is told by its content:
///  - measurements of tsim-measure,
///  - a table of kernel times of PyTorch ({"gemm": [...], "ops": [...], "collectives": [...]}),
///  - a log of nccl-tests,
///  - a trace of the PyTorch profiler, gzipped or not,
///  - a system file of SimuMax with efficiencies by shape.
/// What is wrong is told to `problems`.
ImportedPoints import_points(const std::filesystem::path& file, sim::Problems& problems);

ImportedPoints import_journal(std::string_view text, sim::Problems& problems);
ImportedPoints import_kernel_table(std::string_view text, sim::Problems& problems);
ImportedPoints import_nccl_log(std::string_view text, sim::Problems& problems);
ImportedPoints import_torch_trace(std::string_view text, sim::Problems& problems);
ImportedPoints import_simumax(std::string_view text, sim::Problems& problems);

}  // namespace tsim::calibrate
