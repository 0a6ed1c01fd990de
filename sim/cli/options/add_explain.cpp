#include <memory>

#include "models/dtype.hpp"
#include "models/kernel.hpp"
#include "sim/cli/options/commands.hpp"

namespace tsim::cli {
namespace {

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  names.reserve(models::kDTypes.size());
  for (const models::DTypeRow& row : models::kDTypes) { names.push_back(row.name); }
  return names;
}

std::vector<std::string_view> fusion_names() {
  using models::Fusion;
  std::vector<std::string_view> names;
  for (const Fusion fusion : {Fusion::none, Fusion::framework, Fusion::full}) {
    names.push_back(models::name_of(fusion));
  }
  return names;
}

}  // namespace

Added add_explain(CLI::App& app) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App& explain = *app.add_subcommand(
      "explain", "Show a model's parameters, FLOPs, bytes and saved activations");
  explain
      .add_option("MODEL", options->model,
                  "A name (tsim models) or the path of a Hugging Face config.json")
      ->required()
      ->option_text(" ");
  explain.add_option("--micro-batch", options->micro_batch, "Samples in a micro-batch (1)")
      ->check(count_from(1))
      ->type_name("COUNT");
  explain.add_option("--sequence", options->sequence, "Tokens in a sample (the model's default)")
      ->check(count_from(1))
      ->type_name("COUNT");
  explain.add_option("--device", options->device, "Give times on this device (tsim devices)")
      ->type_name("NAME");
  explain.add_option("--dtype", options->dtype, "Format of weights and activations (fp16)")
      ->check(one_of(dtype_names()))
      ->type_name("NAME");
  explain.add_option("--fusion", options->fusion, "none, framework or full (framework)")
      ->check(one_of(fusion_names()))
      ->type_name("NAME");
  explain.add_flag("--flash-attention", options->flash_attention,
                   "Scores, softmax and sum in one kernel");
  explain.add_flag("--no-dropout", options->no_dropout, "As if every dropout probability were 0");
  add_json(explain, options->json);
  explain.footer("Example:\n  tsim explain bert-large --micro-batch 8 --device v100-sxm2-32g");
  return {&explain, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
