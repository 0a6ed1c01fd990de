#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_advise(CLI::App& app) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App& advise =
      *app.add_subcommand("advise", "The best strategies for a model on a cluster, explained");
  advise.add_option("MODEL", options->model, "Its name, or the path of a Hugging Face config.json")
      ->required()
      ->option_text(" ");
  advise.add_option("CLUSTER", options->cluster, "The name or path of the cluster")
      ->required()
      ->option_text(" ");
  advise.add_option("--nodes", options->nodes, "Nodes of it (as the cluster says)")
      ->check(count_from(1))
      ->type_name("COUNT");
  advise.add_option("--global-batch", options->global_batch, "Samples of an iteration (512)")
      ->check(count_from(1))
      ->type_name("COUNT");
  advise.add_option("--sequence", options->sequence, "Tokens of a sample (the model's)")
      ->check(count_from(1))
      ->type_name("COUNT");
  advise
      .add_option("--as", options->as,
                  "Print each as settings of megatron, deepspeed or torchtitan, too")
      ->check(one_of({"megatron", "deepspeed", "torchtitan"}))
      ->type_name("PROGRAM");
  advise.add_option("--top", options->top, "Strategies (3)")
      ->check(count_from(1))
      ->type_name("COUNT");
  advise.add_option("--jobs", options->jobs, "Processes that search (1)")
      ->check(count_from(1))
      ->type_name("COUNT");
  add_settings(advise, options->settings, "scenario");
  add_json(advise, options->json);
  advise.footer("Example:\n  tsim advise gpt3-175b a100_selene --nodes 64 --as megatron");
  return {&advise, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
