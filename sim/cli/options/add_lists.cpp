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
  const auto action = std::make_shared<std::string>();
  CLI::App& devices =
      *app.add_subcommand("devices", "List the devices known by name, or show one of them");
  auto* const show = devices.add_option("ACTION", *action, "show: what was measured on one device")
                         ->check(one_of({"show"}))
                         ->option_text(" ");
  devices.add_option("DEVICE", options->show, "Its name or file")->needs(show)->option_text(" ");
  add_json(devices, options->json);
  devices.add_flag("--names", options->names_only, "Print the names alone");
  devices.add_option("--svg", options->svg, "show: draw measured times against the fitted ones")
      ->type_name("FILE");
  devices.footer(
      "Example:\n  tsim run scenarios/bert_4mlu.json --set /cluster/device=h100-sxm-80g");
  return {&devices, [options, action] {
            if (!action->empty() && options->show.empty()) {
              return Command{
                  Message{"tsim devices show: found no device, expected a name or a file\n", 2}};
            }
            return Command{*options};
          }};
}

}  // namespace tsim::cli
