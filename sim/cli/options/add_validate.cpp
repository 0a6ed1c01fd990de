#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {
namespace {

/// The value has to be NAME=FILE.
CLI::Validator stand_in() {
  return {[](const std::string& text) {
            const std::size_t equals = text.find('=');
            const bool fine = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
            return fine ? std::string() : "found \"" + text + "\", expected NAME=FILE";
          },
          ""};
}

std::vector<StandIn> split_stand_ins(const std::vector<std::string>& texts) {
  std::vector<StandIn> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    result.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return result;
}

}  // namespace

Added add_validate(CLI::App& app) {
  const auto options = std::make_shared<ValidateOptions>();
  const auto devices = std::make_shared<std::vector<std::string>>();
  CLI::App& validate = *app.add_subcommand(
      "validate", "Compare predictions with published and measured runs, row by row");
  validate.add_option("SOURCE", options->sources, "Names or files of sources (all that tsim has)")
      ->option_text(" ");
  validate.add_option("--filter", options->filter, "Only rows whose SOURCE/ROW contains this")
      ->type_name("TEXT");
  validate.add_option("--jobs", options->jobs, "Processes at a time (all processors)")
      ->check(count_from(1))
      ->type_name("N");
  validate
      .add_option("--device", *devices,
                  "Another device file where rows name that device; may be given more than once")
      ->check(stand_in())
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  validate
      .add_option("--vtrain", options->vtrain,
                  "Also all rows of a table of vTrain; may be given more than once")
      ->allow_extra_args(false)
      ->type_name("CSV");
  add_json(validate, options->json);
  validate.add_option("--svg", options->svg, "Draw predicted against measured steps")
      ->type_name("FILE");
  validate.add_option("--html", options->html, "Write one page with all rows and the plot")
      ->type_name("FILE");
  validate.add_option("--markdown", options->markdown, "Write the document docs/accuracy.md")
      ->type_name("FILE");
  validate.footer(
      "Exit status 1 when an error that a source promises is exceeded.\n"
      "Example:\n  tsim validate korthikanti h200 --html accuracy.html");
  return {&validate, [options, devices] {
            options->devices = split_stand_ins(*devices);
            return Command{*options};
          }};
}

}  // namespace tsim::cli
