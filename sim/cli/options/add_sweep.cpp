#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {
namespace {

void add_space(CLI::App& sweep, SweepOptions& o) {
  sweep.add_option("--scenario", o.scenario, "The scenario that is varied (the spec's)")
      ->type_name("FILE");
  sweep
      .add_option(
          "--vary", o.vary,
          "Values of one place: 1,2,4 or 1:8 or 1:16*2 or rest; may be given more than once")
      ->check(setting())
      ->allow_extra_args(false)
      ->type_name("/json/pointer=VALUES");
  sweep
      .add_option("--where", o.where,
                  "Only points for which this holds; with show: SQL; may be given more than once")
      ->allow_extra_args(false)
      ->type_name("CONDITION");
  add_settings(sweep, o.settings, "scenario");
  sweep.add_option("--search", o.search, "grid, random, pareto or best (best)")
      ->check(one_of({"grid", "random", "pareto", "best"}))
      ->type_name("HOW");
  sweep
      .add_option("--objective", o.objectives,
                  "step_time, tokens_per_second, tokens_per_second_per_device, "
                  "cost_per_million_tokens, energy_per_token, memory or days; may be given more "
                  "than once")
      ->allow_extra_args(false)
      ->type_name("NAME");
  sweep.add_option("--samples", o.samples, "Points of a random search (10000)")
      ->check(count_from(1))
      ->type_name("COUNT");
  sweep.add_option("--seed", o.seed, "Of a random search (1)")
      ->check(count_from(0))
      ->type_name("NUMBER");
}

void add_answers(CLI::App& sweep, SweepOptions& o) {
  sweep.add_option("--top", o.top, "Answers (10)")->check(count_from(1))->type_name("COUNT");
  sweep.add_option("--events", o.events, "Of these, simulated event by event (10)")
      ->check(count_from(0))
      ->type_name("COUNT");
  sweep.add_option("--price", o.price, "Of a device for an hour")->type_name("NUMBER");
  sweep.add_option("--power", o.power, "Watts of a device")->type_name("NUMBER");
  sweep.add_option("--tokens", o.tokens, "To train on")->type_name("NUMBER");
  sweep.add_option("--memory-margin", o.memory_margin, "Share of the memory to be left free (0)")
      ->type_name("SHARE");
  sweep.add_option("--step-time", o.step_time, "Longest step, such as \"20 s\"")->type_name("TIME");
}

}  // namespace

Added add_sweep(CLI::App& app) {
  const auto options = std::make_shared<SweepOptions>();
  CLI::App& sweep =
      *app.add_subcommand("sweep", "Search a space of scenarios for the best, or show results");
  sweep.add_option("SPEC", options->words, "The spec file (docs/sweep.md), or `show` DATABASE")
      ->expected(0, 2)
      ->option_text(" ");
  add_space(sweep, *options);
  add_answers(sweep, *options);
  sweep.add_option("--db", options->database, "Keep all results there, and go on from them")
      ->type_name("FILE");
  sweep.add_option("--jobs", options->jobs, "Processes that search (1)")
      ->check(count_from(1))
      ->type_name("COUNT");
  sweep.add_flag("--dry-run", options->dry_run, "Count the points, and what removes them");
  sweep.add_flag("--tornado", options->tornado,
                 "How much each figure of the hardware matters: it times 0.5, 0.9, 1.1 and 1.5");
  sweep.add_flag("--pareto", options->pareto, "With show: only what nothing beats in all");
  sweep.add_option("--csv", options->csv, "Write the answers there, or with show all rows")
      ->type_name("FILE");
  add_json(sweep, options->json);
  sweep.footer(
      "Examples:\n"
      "  tsim sweep scenarios/sweeps/gpt3_512.json --db gpt3.db --jobs 2\n"
      "  tsim sweep --scenario scenarios/bert_4mlu.json --vary /strategy/pipeline=1,2,4 "
      "--vary /strategy/data=rest\n"
      "  tsim sweep show gpt3.db --top 20 --where \"tensor = 4\"\n"
      "  mpirun -n 4 tsim sweep scenarios/sweeps/gpt3_512.json --db gpt3.db");
  return {&sweep, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
