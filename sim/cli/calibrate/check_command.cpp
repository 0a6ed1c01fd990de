#include "sim/cli/calibrate/check_command.hpp"

#include <array>
#include <cstdio>
#include <ostream>

#include "sim/calibrate/check/check_stack.hpp"
#include "sim/calibrate/check/tsim_measure.hpp"
#include "sim/calibrate/cpu/cpu_stack.hpp"
#include "sim/cli/calibrate/prediction.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/input/quantity.hpp"

namespace tsim::cli {
namespace {

using calibrate::CheckRow;
using calibrate::MeasuredStack;

MeasuredStack read_file(const std::filesystem::path& file) {
  sim::Problems problems;
  MeasuredStack measured = calibrate::read_measured_stack(file, problems);
  if (!problems.empty()) { throw sim::InputErrors(file.string(), problems.errors()); }
  return measured;
}

MeasuredStack measure_on_devices(const calibrate::StackShape& shape) {
  const calibrate::TemporaryFile stack(stack_text(shape));
  const calibrate::TemporaryFile times("");
  calibrate::run_tsim_measure({"--check", stack.path().string(), "--out", times.path().string()});
  return read_file(times.path());
}

MeasuredStack measure_on_processor(const calibrate::StackShape& shape,
                                   const CalibrateOptions& options) {
  if (shape.dtype != "fp32" || shape.devices() != 1) {
    throw sim::InputErrors(
        options.check.string(),
        {{.path = "/precision/compute",
          .found = shape.dtype + " on " + std::to_string(shape.devices()) + " devices",
          .expected = "fp32 on one device with --device cpu"}});
  }
  const double seconds = *sim::parse_quantity(options.budget, sim::Dimension::time).value;
  return {shape, calibrate::run_cpu_stack(shape, seconds), "processor"};
}

std::string error_text(const CheckRow& row) {
  const std::optional<double> error = row.error();
  if (!error) { return "-"; }
  std::array<char, 32> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%+.1f %%", *error * 100);
  return {digits.data(), static_cast<std::size_t>(size)};
}

std::vector<std::string> time_cells(const CheckRow& row) {
  return {row.what, format(Seconds{row.predicted}), format(Seconds{row.measured}), error_text(row)};
}

void print_check(const Prediction& prediction, const MeasuredStack& measured, std::ostream& out) {
  const calibrate::Check check = calibrate::compare(prediction.report, measured.times);
  std::vector<std::vector<std::string>> rows;
  for (const CheckRow& row : check.classes) { rows.push_back(time_cells(row)); }
  rows.push_back(time_cells(check.step));
  rows.push_back(
      {check.memory.what, format(Bytes{static_cast<std::int64_t>(check.memory.predicted)}),
       format(Bytes{static_cast<std::int64_t>(check.memory.measured)}), error_text(check.memory)});
  out << prediction.report.title << ": predicted for " << prediction.report.device
      << ", trained on " << (measured.device.empty() ? "an unnamed device" : measured.device)
      << "\n  loss of a token " << significant(measured.times.first_loss, 4) << " at first, "
      << significant(measured.times.last_loss, 4) << " at last; median of " << measured.times.steps
      << " steps, classes of one\n\n";
  print_table(
      out, {{""}, {"predicted", Align::right}, {"measured", Align::right}, {"error", Align::right}},
      rows);
  const std::array<Seconds, cost::kOrigins> times = sim::times_by_origin(prediction.report.lookups);
  Seconds all{};
  for (const Seconds time : times) { all += time; }
  out << "\nKernel times come from";
  for (std::size_t i = 0; i < times.size(); ++i) {
    out << (i == 0 ? " " : ", ") << name_of(static_cast<cost::Origin>(i)) << " "
        << percent(times.at(i) / all);
  }
  out << " (measure the rest: tsim calibrate --for SCENARIO)\n";
}

/// Each way that two stacks differ.
void refuse_other_shape(const calibrate::StackShape& wanted, const calibrate::StackShape& found,
                        const std::filesystem::path& file) {
  if (wanted == found) { return; }
  throw sim::InputErrors(file.string(),
                         {{.found = "another stack than the scenario's",
                           .expected = "that of tsim calibrate --check SCENARIO --list"}});
}

}  // namespace

int check_command(const CalibrateOptions& options, std::ostream& out) {
  const Prediction prediction = prediction_of(options.check, options.settings);
  sim::Problems problems;
  const calibrate::StackShape shape = calibrate::stack_of(prediction.scenario, problems);
  if (!problems.empty()) { throw sim::InputErrors(options.check.string(), problems.errors()); }
  if (options.list) {
    out << stack_text(shape);
    return 0;
  }
  MeasuredStack measured;
  if (!options.measured.empty()) {
    measured = read_file(options.measured);
    refuse_other_shape(shape, measured.shape, options.measured);
  } else if (options.device == "cpu") {
    measured = measure_on_processor(shape, options);
  } else if (options.device == "cuda") {
    measured = measure_on_devices(shape);
  } else {
    throw sim::InputErrors("tsim calibrate",
                           {{.path = "--check",
                             .found = "nothing to compare with",
                             .expected = "--measured FILE, --device cpu or cuda, or --list"}});
  }
  print_check(prediction, measured, out);
  return 0;
}

}  // namespace tsim::cli
