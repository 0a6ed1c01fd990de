#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_fit(CLI::App& app) {
  const auto options = std::make_shared<FitOptions>();
  CLI::App& fit =
      *app.add_subcommand("fit", "Fit figures of a device file to published and measured steps");
  fit.add_option("SPLIT", options->split, "What is fitted, within which bounds, to which rows")
      ->required()
      ->option_text(" ");
  fit.add_option("--out", options->out, "Write the device file with the fitted figures")
      ->type_name("FILE");
  fit.add_option("--jobs", options->jobs, "Processes at a time (all processors)")
      ->check(count_from(1))
      ->type_name("N");
  fit.footer(
      "Example:\n  tsim fit scenarios/splits/a100.json --out a100-fitted.json\n"
      "  tsim validate --device a100-sxm-80g=a100-fitted.json");
  return {&fit, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
