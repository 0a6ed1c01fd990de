#include <memory>

#include "cost/synthesis/synthesise.hpp"
#include "sim/cli/options/commands.hpp"

namespace tsim::cli {
namespace {

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (int i = 0; i < cost::kCollectiveOps; ++i) {
    const auto op = static_cast<cost::CollectiveOp>(i);
    if (cost::can_synthesise(op)) { names.push_back(name_of(op)); }
  }
  return names;
}

void add_limits(CLI::App& app, SynthesiseOptions& options) {
  app.add_option("--pieces", options.pieces, "Cut each rank's part into this many (several tried)")
      ->check(count_from(1))
      ->type_name("COUNT");
  app.add_option("--allow", options.allow,
                 "Ranks that may send to each other, such as 0:1,1:0 (all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FROM:TO");
  app.add_option("--rotate", options.rotate,
                 "Turning every SIZE ranks by OFFSET changes nothing, such as 8:16")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("OFFSET:SIZE");
}

}  // namespace

Added add_synthesise(CLI::App& app) {
  struct Found {
    SynthesiseOptions options;
    std::vector<std::string> settings;
  };
  const auto found = std::make_shared<Found>();
  SynthesiseOptions* const given = &found->options;
  CLI::App& synthesise = *app.add_subcommand(
      "synthesise", "Make a program for a collective that suits a cluster's wires");
  synthesise.add_option("CLUSTER", given->cluster, "The name or path of a cluster file")
      ->required()
      ->option_text(" ");
  synthesise.add_option("--op", given->op, "The collective (all_reduce)")
      ->check(one_of(op_names()))
      ->type_name("NAME");
  synthesise.add_option("--size", given->size, "S as nccl-tests counts it (64MiB)")
      ->type_name("SIZE");
  synthesise.add_option("--ranks", given->ranks, "Devices, such as 0-7,12 (all)")
      ->type_name("LIST");
  add_limits(synthesise, *given);
  synthesise.add_option("--out", given->out, "Write the program: MSCCL's form for .xml, else JSON")
      ->type_name("FILE");
  synthesise.add_flag("--steps", given->steps, "List all steps, not the first ones only");
  add_json(synthesise, given->json);
  add_settings(synthesise, found->settings, "cluster");
  synthesise.footer("Example:\n  tsim synthesise dgx1_v100 --op all_gather --size 4KiB");
  return {&synthesise, [found] {
            SynthesiseOptions options = found->options;
            options.settings = split_settings(found->settings);
            return Command{options};
          }};
}

}  // namespace tsim::cli
