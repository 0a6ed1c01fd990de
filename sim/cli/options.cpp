#include "sim/cli/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "models/dtype.hpp"
#include "models/kernel.hpp"
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

`tsim COMMAND --help` explains a command. Exit status: 0 an answer was printed, 1 there is none
(it does not fit, it is stuck, it cannot be written), 2 the input is wrong.)";

constexpr std::int64_t kMostCount = 1'000'000'000;

/// The value has to be a whole number from `least` to kMostCount.
CLI::Validator count_from(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc{} && stop == end && value >= least && value <= kMostCount) {
      return {};
    }
    return "found " + sim::in_quotes(text) + ", expected a whole number from " +
           std::to_string(least) + " to " + std::to_string(kMostCount);
  };
  return {check, "", "count"};
}

/// The value has to be one of `names`.
CLI::Validator one_of(std::vector<std::string_view> names) {
  const auto check = [names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) { return {}; }
    const std::string hint = sim::did_you_mean(text, names);
    return "found " + sim::in_quotes(text) + ", expected one of " + sim::join(names) +
           (hint.empty() ? "" : "; hint: " + hint);
  };
  return {check, "", "choice"};
}

/// The value has to be /json/pointer=value.
CLI::Validator setting() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.starts_with('/') && text.find('=') > 1 && text.find('=') != std::string::npos) {
      return {};
    }
    return "found " + sim::in_quotes(text) +
           ", expected /json/pointer=value, such as /strategy/data=4";
  };
  return {check, "", "setting"};
}

Setting split_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  return {.pointer = text.substr(0, equals), .value = text.substr(equals + 1)};
}

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

/// All that one parse fills.
struct Parsed {
  RunOptions run;
  std::vector<std::string> settings;
  ModelsOptions models;
  DevicesOptions devices;
  ExplainOptions explain;
};

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON instead of text");
}

void add_run(CLI::App& app, Parsed& parsed) {
  CLI::App& run = *app.add_subcommand("run", "Simulate one iteration of a scenario");
  run.add_option("SCENARIO", parsed.run.scenario, "The scenario file (docs/scenario.md)")
      ->required()
      ->option_text(" ");
  add_json(run, parsed.run.json);
  run.add_option("--trace", parsed.run.trace,
                 "Write what every rank does when, for ui.perfetto.dev")
      ->type_name("FILE");
  run.add_option("--trace-ranks", parsed.run.trace_ranks,
                 "Only the first COUNT ranks in the trace (0: all)")
      ->check(count_from(0))
      ->type_name("COUNT");
  run.add_option("--set", parsed.settings,
                 "Change one value of the scenario; may be given more than once")
      ->check(setting())
      ->allow_extra_args(false)
      ->type_name("/json/pointer=value");
  run.footer("Example:\n  tsim run scenarios/bert_4mlu.json --set /strategy/schedule=gpipe --json");
}

void add_models(CLI::App& app, Parsed& parsed) {
  CLI::App& models = *app.add_subcommand("models", "List the models known by name");
  add_json(models, parsed.models.json);
  models.add_flag("--names", parsed.models.names_only, "Print the names alone");
  models.footer("Example:\n  tsim explain $(tsim models --names | head -n 1)");
}

void add_devices(CLI::App& app, Parsed& parsed) {
  CLI::App& devices = *app.add_subcommand("devices", "List the devices known by name");
  add_json(devices, parsed.devices.json);
  devices.add_flag("--names", parsed.devices.names_only, "Print the names alone");
  devices.footer(
      "Example:\n  tsim run scenarios/bert_4mlu.json --set /cluster/device=h100-sxm-80g");
}

void add_explain(CLI::App& app, Parsed& parsed) {
  ExplainOptions& options = parsed.explain;
  CLI::App& explain = *app.add_subcommand(
      "explain", "Show a model's parameters, FLOPs, bytes and saved activations");
  explain
      .add_option("MODEL", options.model,
                  "A name (tsim models) or the path of a Hugging Face config.json")
      ->required()
      ->option_text(" ");
  explain.add_option("--micro-batch", options.micro_batch, "Samples in a micro-batch (1)")
      ->check(count_from(1))
      ->type_name("COUNT");
  explain.add_option("--sequence", options.sequence, "Tokens in a sample (the model's default)")
      ->check(count_from(1))
      ->type_name("COUNT");
  explain.add_option("--device", options.device, "Give times on this device (tsim devices)")
      ->type_name("NAME");
  explain.add_option("--dtype", options.dtype, "Format of weights and activations (fp16)")
      ->check(one_of(dtype_names()))
      ->type_name("NAME");
  explain.add_option("--fusion", options.fusion, "none, framework or full (framework)")
      ->check(one_of(fusion_names()))
      ->type_name("NAME");
  explain.add_flag("--flash-attention", options.flash_attention,
                   "Scores, softmax and sum in one kernel");
  explain.add_flag("--no-dropout", options.no_dropout, "As if every dropout probability were 0");
  add_json(explain, options.json);
  explain.footer("Example:\n  tsim explain bert-large --micro-batch 8 --device v100-sxm2-32g");
}

/// The program's options and subcommands; `parsed` has to outlive it.
std::unique_ptr<CLI::App> command_line(Parsed& parsed) {
  auto app = std::make_unique<CLI::App>(std::string(kDescription), "tsim");
  app->get_formatter()->column_width(36);
  app->get_formatter()->label("SUBCOMMAND", "COMMAND");
  app->get_formatter()->label("Subcommands", "Commands");
  app->set_help_flag("--help,-h", "Print this help");
  app->set_version_flag("--version", "tsim " TSIM_VERSION, "Print the version");
  app->footer(std::string(kExamples));
  add_run(*app, parsed);
  add_models(*app, parsed);
  add_devices(*app, parsed);
  add_explain(*app, parsed);
  app->require_subcommand(1);
  return app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

/// The subcommand that was named, or the program itself.
CLI::App& chosen(CLI::App& app) {
  const std::vector<CLI::App*> subcommands = app.get_subcommands();
  return subcommands.empty() ? app : *subcommands.front();
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

Command command_of(const CLI::App& app, Parsed& parsed) {
  const std::string& name = app.get_subcommands().front()->get_name();
  if (name == "models") { return parsed.models; }
  if (name == "devices") { return parsed.devices; }
  if (name == "explain") { return parsed.explain; }
  for (const std::string& text : parsed.settings) {
    parsed.run.settings.push_back(split_setting(text));
  }
  return parsed.run;
}

}  // namespace

Command parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  const std::unique_ptr<CLI::App> app = command_line(parsed);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::ParseError& error) { return message_of(*app, error); }
  return command_of(*app, parsed);
}

std::vector<OptionName> option_names() {
  Parsed parsed;
  const std::unique_ptr<CLI::App> app = command_line(parsed);
  std::vector<OptionName> names;
  for (const std::string& option : known_words(*app, true)) { names.push_back({"", option}); }
  for (const std::string& subcommand : known_words(*app, false)) {
    names.push_back({subcommand, ""});
    for (const std::string& option : known_words(*app->get_subcommand(subcommand), true)) {
      names.push_back({subcommand, option});
    }
  }
  return names;
}

}  // namespace tsim::cli
