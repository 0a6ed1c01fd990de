#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_run(CLI::App& app) {
  struct Found {
    RunOptions options;
    std::vector<std::string> settings;
  };
  const auto found = std::make_shared<Found>();
  CLI::App& run = *app.add_subcommand("run", "Simulate one iteration of a scenario");
  run.add_option("SCENARIO", found->options.scenario, "The scenario file (docs/scenario.md)")
      ->required()
      ->option_text(" ");
  add_json(run, found->options.json);
  run.add_option("--trace", found->options.trace,
                 "Write what every rank does when, for ui.perfetto.dev")
      ->type_name("FILE");
  run.add_option("--trace-ranks", found->options.trace_ranks,
                 "Only the first COUNT ranks in the trace (0: all)")
      ->check(count_from(0))
      ->type_name("COUNT");
  add_settings(run, found->settings, "scenario");
  run.footer("Example:\n  tsim run scenarios/bert_4mlu.json --set /strategy/schedule=gpipe --json");
  return {&run, [found] {
            RunOptions options = found->options;
            options.settings = split_settings(found->settings);
            return Command{options};
          }};
}

}  // namespace tsim::cli
