#include <algorithm>
#include <array>
#include <ostream>
#include <stdexcept>

#include "sim/calibrate/check/tsim_measure.hpp"
#include "sim/calibrate/cpu/measure_cpu.hpp"
#include "sim/calibrate/device_text.hpp"
#include "sim/calibrate/make_device.hpp"
#include "sim/calibrate/wanted_work.hpp"
#include "sim/calibrate/work.hpp"
#include "sim/cli/calibrate/check_command.hpp"
#include "sim/cli/calibrate/cluster_file.hpp"
#include "sim/cli/calibrate/prediction.hpp"
#include "sim/cli/calibrate/print_calibration.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/points/write_points.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::cli {
namespace fs = std::filesystem;
namespace {

std::vector<calibrate::ImportedPoints> imported(const CalibrateOptions& options) {
  std::vector<calibrate::ImportedPoints> files;
  for (const fs::path& path : options.import) {
    sim::Problems problems;
    files.push_back(calibrate::import_points(path, problems));
    if (!problems.empty()) { throw sim::InputErrors(path.string(), problems.errors()); }
  }
  return files;
}

[[noreturn]] void refuse(std::string flag, std::string found, std::string expected,
                         std::string hint = {}) {
  throw sim::InputErrors("tsim calibrate", {{.path = std::move(flag),
                                             .found = std::move(found),
                                             .expected = std::move(expected),
                                             .hint = std::move(hint)}});
}

std::string fact(const cost::Provenance& source, std::string_view key) {
  const auto at = std::find_if(source.facts.begin(), source.facts.end(),
                               [key](const auto& one) { return one.first == key; });
  return at == source.facts.end() ? std::string() : at->second;
}

/// The known device whose description or name contains all words of what the first file says that
/// it measured; named by --base otherwise.
cost::Device base_device(const CalibrateOptions& options,
                         const std::vector<calibrate::ImportedPoints>& files) {
  if (!options.base.empty()) { return sim::read_device(options.base); }
  const std::string said = fact(files.front().source, "device");
  std::vector<cost::Device> fitting;
  for (const cost::Device& device : sim::list_devices()) {
    if (!said.empty() && !device.measured && device.description.starts_with(said)) {
      fitting.push_back(device);
    }
  }
  if (fitting.size() == 1) { return fitting.front(); }
  refuse("--base", said.empty() ? "files that name no device" : "files of " + sim::in_quotes(said),
         "the device whose data sheet holds for them",
         "`tsim devices` lists those known; a file of your own does, too");
}

/// The device file and its points beside it.
void write_device(const fs::path& path, const std::string& device, const cost::Measured& measured,
                  std::ostream& out) {
  fs::path points = path;
  points.replace_extension(".points.json");
  write_file(points, [&](std::ostream& file) { file << sim::points_text(measured); });
  write_file(path, [&](std::ostream& file) { file << device; });
  out << "Written to " << path.string() << " and " << points.string() << "\n";
}

int import_files(const CalibrateOptions& options, std::ostream& out) {
  const std::vector<calibrate::ImportedPoints> files = imported(options);
  const cost::Device base = base_device(options, files);
  const calibrate::Calibration calibration = calibrate::calibrate(files, base);
  print_calibration(options.import, files, calibration, out);
  if (!options.device_file.empty()) {
    std::vector<double> slowdowns;
    for (const calibrate::ImportedPoints& file : files) {
      slowdowns.insert(slowdowns.end(), file.slowdowns.begin(), file.slowdowns.end());
    }
    write_device(options.device_file,
                 calibrate::device_text(base, options.device_file, std::move(slowdowns)),
                 calibration.measured, out);
  }
  if (!options.cluster_file.empty()) { write_cluster_file(options, calibration.measured, out); }
  return 0;
}

}  // namespace

namespace {

/// Work lines as tsim-measure reads them, and in comments what it cannot time and how much of the
/// predicted time the lines so far are.
int list_work(const CalibrateOptions& options, std::ostream& out) {
  std::vector<sim::Report> reports;
  reports.reserve(options.scenarios.size());
  for (const fs::path& path : options.scenarios) {
    reports.push_back(prediction_of(path, options.settings).report);
  }
  const std::vector<calibrate::Wanted> wanted = calibrate::wanted_work(reports);
  double done = 0;
  int next = 0;
  out << "# work of " << options.scenarios.size()
      << (options.scenarios.size() == 1 ? " scenario" : " scenarios")
      << ", most valuable first: tsim-measure --work THIS --out FILE\n";
  for (const calibrate::Wanted& one : wanted) {
    std::vector<calibrate::BadLine> bad;
    calibrate::read_work(one.line, bad);
    out << (bad.empty() ? "" : "# tsim-measure does not time ") << one.line << "\n";
    done += one.share;
    constexpr std::array<double, 4> kMarks{0.5, 0.9, 0.99, 0.999};
    while (next < static_cast<int>(kMarks.size()) &&
           done >= kMarks.at(static_cast<std::size_t>(next))) {
      out << "# so far: " << percent(done) << " of the predicted time\n";
      ++next;
    }
  }
  return 0;
}

/// The lines to time: those of the scenarios, else small layers.
std::vector<std::string> wanted_lines(const CalibrateOptions& options) {
  if (options.scenarios.empty()) { return calibrate::cpu_work(); }
  std::vector<sim::Report> reports;
  for (const fs::path& path : options.scenarios) {
    reports.push_back(prediction_of(path, options.settings).report);
  }
  std::vector<std::string> lines;
  for (const calibrate::Wanted& one : calibrate::wanted_work(reports)) {
    lines.push_back(one.line);
  }
  return lines;
}

/// Times this machine's NVIDIA devices by tsim-measure, and makes a device of it.
int measure_devices(const CalibrateOptions& options, std::ostream& out) {
  if (options.device_file.empty()) {
    refuse("--device-file", "nothing", "the file to write the device to");
  }
  fs::path journal = options.device_file;
  journal.replace_extension(".jsonl");
  const double budget = *sim::parse_quantity(options.budget, sim::Dimension::time).value;
  std::vector<std::string> words{"--out", journal.string(), "--budget", std::to_string(budget)};
  std::optional<calibrate::TemporaryFile> work;
  if (!options.scenarios.empty()) {
    std::string lines;
    for (const std::string& line : wanted_lines(options)) {
      std::vector<calibrate::BadLine> bad;
      calibrate::read_work(line, bad);
      if (bad.empty()) { lines += line + "\n"; }
    }
    work.emplace(lines);
    words.insert(words.end(), {"--work", work->path().string()});
  }
  calibrate::run_tsim_measure(words);
  CalibrateOptions import = options;
  import.import = {journal};
  return import_files(import, out);
}

/// Times this machine's processor; the journal stands beside the device file and is gone on with.
int measure_processor(const CalibrateOptions& options, std::ostream& out) {
  if (options.device_file.empty()) {
    refuse("--device-file", "nothing", "the file to write the device to");
  }
  fs::path journal = options.device_file;
  journal.replace_extension(".jsonl");
  const double budget = *sim::parse_quantity(options.budget, sim::Dimension::time).value;
  const calibrate::CpuDone done =
      calibrate::measure_cpu({.journal = journal,
                              .work = wanted_lines(options),
                              .budget = std::chrono::duration<double>(budget),
                              .version = TSIM_VERSION});
  out << journal.string() << ": " << done.measured << " measured, " << done.kept
      << " were there already, " << done.skipped << " a processor is not timed for"
      << (done.late ? ", the rest left for want of time\n" : "\n");
  sim::Problems problems;
  const std::vector<calibrate::ImportedPoints> files{calibrate::import_points(journal, problems)};
  if (!problems.empty()) { throw sim::InputErrors(journal.string(), problems.errors()); }
  const calibrate::Ceilings best = calibrate::ceilings(files.front().points, models::DType::fp32);
  if (best.product.value <= 0 || best.memory.value <= 0) {
    throw std::runtime_error("no product or no large copy was measured: give it a larger --budget");
  }
  cost::Device base = sim::read_device("cpu");
  const std::string text = calibrate::processor_text(base, options.device_file,
                                                     fact(files.front().source, "processor"), best);
  base.memory_bandwidth = best.memory;
  base.matrix_peaks = {{models::DType::fp32, best.product}};
  const calibrate::Calibration calibration = calibrate::calibrate(files, base);
  print_calibration({journal}, files, calibration, out);
  write_device(options.device_file, text, calibration.measured, out);
  return 0;
}

}  // namespace

int calibrate_command(const CalibrateOptions& options, std::ostream& out, std::ostream&) {
  if (!options.import.empty()) { return import_files(options, out); }
  if (!options.check.empty()) { return check_command(options, out); }
  if (options.device == "cpu") { return measure_processor(options, out); }
  if (options.device == "cuda") { return measure_devices(options, out); }
  if (!options.scenarios.empty() && options.list) { return list_work(options, out); }
  refuse("", "nothing to do",
         "import FILE..., --for SCENARIO --list, --check SCENARIO, or --device cpu or cuda");
}

}  // namespace tsim::cli
