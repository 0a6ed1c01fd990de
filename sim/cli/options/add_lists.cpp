#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_models(CLI::App& app) {
  const auto options = std::make_shared<ModelsOptions>();
  CLI::App& models = *app.add_subcommand("models", "List the models known by name");
  add_json(models, options->json);
  models.add_flag("--names", options->names_only, "Print the names alone");
  models.footer("Example:\n  tsim explain $(tsim models --names | head -n 1)");
  return {&models, [options] { return Command{*options}; }};
}

Added add_devices(CLI::App& app) {
  const auto options = std::make_shared<DevicesOptions>();
  CLI::App& devices = *app.add_subcommand("devices", "List the devices known by name");
  add_json(devices, options->json);
  devices.add_flag("--names", options->names_only, "Print the names alone");
  devices.footer(
      "Example:\n  tsim run scenarios/bert_4mlu.json --set /cluster/device=h100-sxm-80g");
  return {&devices, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
