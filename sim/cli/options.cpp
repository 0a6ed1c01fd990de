#include "sim/cli/options.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include "sim/cli/options/commands.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::cli {
namespace {

constexpr std::string_view kDescription =
    "tsim simulates one iteration of distributed training, event by event: how long it takes,\n"
    "what the time is spent on, and whether it fits in memory. A scenario file states the model,\n"
    "the workload, the cluster and the parallel strategy.\n";

constexpr std::string_view kExamples =
    R"(Examples:
  tsim run scenarios/bert_4mlu.json
      one simulated iteration, explained
  tsim run scenarios/bert_4mlu.json --set /workload/micro_batch=4
      the same with another micro-batch
  tsim run scenarios/bert_4mlu.json --trace trace.json
      what every device does when, for https://ui.perfetto.dev
  tsim explain bert-base --device mlu270
      where one model's work and time go
  tsim net dgx_h100_pod --op all_gather --sizes 1MiB:1GiB
      what a collective takes, as nccl-tests prints it

`tsim COMMAND --help` explains a command. Exit status: 0 an answer was printed, 1 there is none
(it does not fit, it is stuck, it cannot be written), 2 the input is wrong.)";

/// The program's options and its subcommands.
struct CommandLine {
  std::unique_ptr<CLI::App> app;
  std::vector<Added> commands;
};

CommandLine command_line() {
  auto app = std::make_unique<CLI::App>(std::string(kDescription), "tsim");
  app->get_formatter()->column_width(36);
  app->get_formatter()->label("SUBCOMMAND", "COMMAND");
  app->get_formatter()->label("Subcommands", "Commands");
  app->set_help_flag("--help,-h", "Print this help");
  app->set_version_flag("--version", "tsim " TSIM_VERSION, "Print the version");
  app->footer(std::string(kExamples));
  std::vector<Added> commands;
  for (const auto& add :
       {add_run, add_models, add_devices, add_explain, add_topo, add_import, add_net, add_jobs,
        add_synthesise, add_calibrate, add_validate, add_fit, add_sweep, add_advise}) {
    commands.push_back(add(*app));
  }
  app->require_subcommand(1);
  return {std::move(app), std::move(commands)};
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

/// The subcommand that was named, or the program itself.
CLI::App& chosen(CLI::App& app) {
  const std::vector<CLI::App*> subcommands = app.get_subcommands();
  return subcommands.empty() ? app : chosen(*subcommands.front());
}

/// What may stand where `app` found something else: its options, or the subcommands' names.
std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) { words.push_back("--" + name); }
    }
  } else {
    for (const CLI::App* subcommand : app.get_subcommands(std::function<bool(const CLI::App*)>{})) {
      words.push_back(subcommand->get_name());
    }
  }
  return words;
}

Message wrong(CLI::App& app, const std::string& text) {
  const std::string name = full_name(app);
  return {.text = name + ": " + text + "\n`" + name + " --help` lists what there is\n",
          .status = 2};
}

/// An argument that nothing takes.
Message unknown_argument(CLI::App& app, const std::string& argument) {
  const bool option = argument.starts_with('-');
  if (app.get_option_no_throw(argument) != nullptr) {
    return wrong(app, "found " + argument + " before the command, expected it after");
  }
  const std::vector<std::string> words = known_words(app, option);
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  const std::string hint = sim::did_you_mean(argument, candidates);
  const char* const what = option                        ? "unknown option "
                           : app.get_parent() == nullptr ? "unknown command "
                                                         : "unexpected argument ";
  return wrong(app, what + sim::in_quotes(argument) + (hint.empty() ? "" : "; hint: " + hint));
}

Message message_of(CLI::App& app, const CLI::ParseError& error) {
  CLI::App& place = chosen(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr;
    return {.text = version ? std::string(error.what()) + "\n" : app.help(), .status = 0};
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) { return unknown_argument(place, extras.front()); }
  if (&place == &app) { return {.text = app.help(), .status = 2}; }
  return wrong(place, error.what());
}

Command command_of(const CommandLine& line) {
  const CLI::App* const named = line.app->get_subcommands().front();
  const auto added = std::find_if(line.commands.begin(), line.commands.end(),
                                  [&](const Added& one) { return one.app == named; });
  return added->command();
}

}  // namespace

Command parse_options(const std::vector<std::string>& arguments) {
  const CommandLine line = command_line();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
  try {
    line.app->parse(std::move(reversed));
  } catch (const CLI::ParseError& error) { return message_of(*line.app, error); }
  return command_of(line);
}

std::vector<OptionName> option_names() {
  const CommandLine line = command_line();
  const CLI::App& app = *line.app;
  std::vector<OptionName> names;
  for (const std::string& option : known_words(app, true)) { names.push_back({"", option}); }
  for (const std::string& subcommand : known_words(app, false)) {
    names.push_back({subcommand, ""});
    for (const std::string& option : known_words(*app.get_subcommand(subcommand), true)) {
      names.push_back({subcommand, option});
    }
  }
  return names;
}

}  // namespace tsim::cli
