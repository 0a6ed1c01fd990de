#include <memory>

#include "sim/cli/options/commands.hpp"
#include "sim/cli/options/parts.hpp"
#include "sim/input/quantity.hpp"

namespace tsim::cli {
namespace {

/// The value has to be a time with its unit.
CLI::Validator duration() {
  return {[](const std::string& text) {
            const auto parsed = sim::parse_quantity(text, sim::Dimension::time);
            return parsed.value && *parsed.value > 0
                       ? std::string()
                       : "found \"" + text + "\", expected " +
                             sim::expected_quantity(sim::Dimension::time);
          },
          ""};
}

}  // namespace

Added add_calibrate(CLI::App& app) {
  const auto options = std::make_shared<CalibrateOptions>();
  const auto action = std::make_shared<std::string>();
  const auto settings = std::make_shared<std::vector<std::string>>();
  CLI::App& calibrate = *app.add_subcommand(
      "calibrate", "Make a device file of measurements, or say what to measure");
  calibrate
      .add_option("ACTION", *action, "import: make a device of measurements (docs/calibrate.md)")
      ->check(one_of({"import"}))
      ->option_text(" ");
  calibrate
      .add_option("FILE", options->import,
                  "Of tsim-measure, PyTorch's profiler, nccl-tests, SimuMax; the first counts most")
      ->option_text(" ");
  calibrate
      .add_option("--base", options->base,
                  "Device whose data sheet holds; else guessed by its name")
      ->type_name("NAME");
  calibrate.add_option("--device-file", options->device_file, "Write the device, points beside it")
      ->type_name("FILE");
  calibrate
      .add_option("--cluster-file", options->cluster_file,
                  "Write --cluster with the collectives as measured")
      ->type_name("FILE");
  calibrate
      .add_option("--cluster", options->cluster, "Cluster whose wires the collectives crossed")
      ->type_name("NAME");
  calibrate.add_option("--for", options->scenarios, "Scenarios whose shapes are to be measured")
      ->type_name("SCENARIO");
  calibrate.add_flag("--list", options->list,
                     "Print these shapes as tsim-measure reads them, most valuable first");
  calibrate
      .add_option(
          "--check", options->check,
          "Compare the prediction with a stack that is really trained: on --device, or in a "
          "file (--measured); with --list, describe it for tsim-measure --check")
      ->type_name("SCENARIO");
  calibrate
      .add_option("--measured", options->measured, "What tsim-measure --check wrote elsewhere")
      ->type_name("FILE");
  calibrate
      .add_option("--device", options->device,
                  "Time this machine's processor (cpu), or its devices by tsim-measure (cuda)")
      ->check(one_of({"cpu", "cuda"}))
      ->type_name("KIND");
  calibrate.add_option("--budget", options->budget, "Time to spend on it (60 s)")
      ->check(duration())
      ->type_name("TIME");
  add_settings(calibrate, *settings, "scenarios of --check and --for");
  calibrate.footer(
      "Example:\n  tsim calibrate import h200.jsonl --device-file devices/our-h200.json");
  return {&calibrate, [options, action, settings] {
            if (!action->empty() && options->import.empty()) {
              return Command{
                  Message{"tsim calibrate import: found no files, expected measurements\n", 2}};
            }
            CalibrateOptions all = *options;
            all.settings = split_settings(*settings);
            return Command{all};
          }};
}

}  // namespace tsim::cli
