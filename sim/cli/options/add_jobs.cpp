#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_jobs(CLI::App& app) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App& jobs = *app.add_subcommand(
      "jobs", "Simulate one iteration of several scenarios that share a cluster");
  jobs.add_option("CLUSTER", options->cluster, "The name or path of the cluster that they share")
      ->required()
      ->option_text(" ");
  jobs.add_option("SCENARIO", options->scenarios, "Their scenario files; their own clusters go")
      ->required()
      ->option_text(" ");
  jobs.add_option("--ranks", options->ranks,
                  "Devices of a scenario, once for each (one after the other from 0 on)")
      ->allow_extra_args(false)
      ->type_name("LIST");
  add_json(jobs, options->json);
  jobs.footer("Example:\n  tsim jobs dgx_a100_pod a.json b.json --ranks 0-7 --ranks 8-15");
  return {&jobs, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
