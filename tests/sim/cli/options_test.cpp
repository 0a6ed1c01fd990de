#include "sim/cli/options.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tsim::cli {
namespace {

using Arguments = std::vector<std::string>;

Message message(const Arguments& arguments) {
  const Command command = parse_options(arguments);
  REQUIRE(std::holds_alternative<Message>(command));
  return std::get<Message>(command);
}

bool has(const Message& message, const std::string& text) {
  return message.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("run takes a scenario, output options and any number of settings") {
  const Command command = parse_options({"run", "--set", "/workload/micro_batch=4", "a.json",
                                         "--set", "/strategy/layers=[3,3]", "--trace", "t.json",
                                         "--trace-ranks", "8", "--json"});
  const RunOptions expected{
      .scenario = "a.json",
      .json = true,
      .trace = "t.json",
      .trace_ranks = 8,
      .settings = {{"/workload/micro_batch", "4"}, {"/strategy/layers", "[3,3]"}}};
  REQUIRE(std::holds_alternative<RunOptions>(command));
  CHECK(std::get<RunOptions>(command) == expected);
}

TEST_CASE("a setting is split at its first equals sign") {
  const Command command = parse_options({"run", "a.json", "--set", "/name=a=b"});
  REQUIRE(std::holds_alternative<RunOptions>(command));
  CHECK(std::get<RunOptions>(command).settings == std::vector<Setting>{{"/name", "a=b"}});
}

TEST_CASE("a setting may be empty text") {
  const Command command = parse_options({"run", "a.json", "--set", "/name="});
  REQUIRE(std::holds_alternative<RunOptions>(command));
  CHECK(std::get<RunOptions>(command).settings == std::vector<Setting>{{"/name", ""}});
}

TEST_CASE("a setting without a pointer or without a value is wrong") {
  for (const char* setting : {"strategy/data=4", "/strategy/data", "=4", "/=4", ""}) {
    CAPTURE(setting);
    const Message told = message({"run", "a.json", "--set", setting});
    CHECK(told.status == 2);
    CHECK(has(told, "expected /json/pointer=value"));
  }
}

TEST_CASE("explain's options have defaults that are shown in its help") {
  const Command command = parse_options({"explain", "bert-base"});
  REQUIRE(std::holds_alternative<ExplainOptions>(command));
  CHECK(std::get<ExplainOptions>(command) == ExplainOptions{.model = "bert-base"});
  const Message help = message({"explain", "--help"});
  CHECK(has(help, "(1)"));
  CHECK(has(help, "(fp16)"));
  CHECK(has(help, "(framework)"));
}

TEST_CASE("explain takes every option") {
  const Command command = parse_options({"explain", "gpt2", "--micro-batch", "8", "--sequence",
                                         "1024", "--device", "v100", "--dtype", "bf16", "--fusion",
                                         "full", "--flash-attention", "--no-dropout", "--json"});
  const ExplainOptions expected{.model = "gpt2",
                                .micro_batch = 8,
                                .sequence = 1024,
                                .device = "v100",
                                .dtype = "bf16",
                                .fusion = "full",
                                .flash_attention = true,
                                .no_dropout = true,
                                .json = true};
  REQUIRE(std::holds_alternative<ExplainOptions>(command));
  CHECK(std::get<ExplainOptions>(command) == expected);
}

TEST_CASE("a count that is no whole number in range is told with the rule") {
  for (const char* count : {"0", "-1", "1.5", "1e3", "8x", "", "99999999999999999999"}) {
    CAPTURE(count);
    const Message told = message({"explain", "gpt2", "--micro-batch", count});
    CHECK(told.status == 2);
    CHECK(has(told, "--micro-batch: found"));
    CHECK(has(told, "expected a whole number from 1 to 1000000000"));
  }
}

TEST_CASE("a wrong choice is answered with all choices and the nearest one") {
  const Message told = message({"explain", "gpt2", "--fusion", "ful"});
  CHECK(told.status == 2);
  CHECK(has(told, "found \"ful\", expected one of none, framework, full"));
  CHECK(has(told, "did you mean \"full\"?"));
}

TEST_CASE("a misspelt command or option is answered with the nearest one") {
  CHECK(has(message({"rnu", "a.json"}), "did you mean \"run\"?"));
  CHECK(has(message({"run", "--jsn", "a.json"}), "did you mean \"--json\"?"));
  CHECK(has(message({"--versoin"}), "did you mean \"--version\"?"));
}

TEST_CASE("an option before the command is told to go after it") {
  const Message told = message({"--json", "run", "a.json"});
  CHECK(told.status == 2);
  CHECK(has(told, "found --json before the command, expected it after"));
}

TEST_CASE("what is missing is named, and the status is 2") {
  CHECK(message({"run"}).text.starts_with("tsim run: SCENARIO is required\n"));
  CHECK(message({"run", "a.json", "--trace"}).status == 2);
  CHECK(message({"explain"}).status == 2);
  CHECK(message({"run", "a.json", "b.json"}).status == 2);
  CHECK(message({"models", "gpt2"}).status == 2);
}

TEST_CASE("no command at all prints the help as an error") {
  const Message told = message({});
  CHECK(told.status == 2);
  CHECK(told.text == message({"--help"}).text);
}

TEST_CASE("help has status 0 and tells usage, commands and examples") {
  const Message help = message({"--help"});
  CHECK(help.status == 0);
  CHECK(has(help, "Usage: tsim"));
  CHECK(has(help, "tsim run scenarios/bert_4mlu.json"));
  for (const OptionName& name : option_names()) {
    if (name.option.empty()) { CHECK(has(help, "  " + name.subcommand)); }
  }
}

TEST_CASE("a command's help names the whole command and all of its options") {
  for (const OptionName& name : option_names()) {
    if (name.subcommand.empty()) { continue; }
    const Message help = message({name.subcommand, "--help"});
    CHECK(help.status == 0);
    CHECK(has(help, "Usage: tsim " + name.subcommand));
    CHECK(has(help, name.option));
  }
}

TEST_CASE("the version is one line with status 0") {
  const Message version = message({"--version"});
  CHECK(version.status == 0);
  CHECK(version.text.starts_with("tsim "));
  CHECK(version.text.find('\n') == version.text.size() - 1);
}

TEST_CASE("after a double dash everything is a file name") {
  const Command command = parse_options({"run", "--", "--json"});
  REQUIRE(std::holds_alternative<RunOptions>(command));
  CHECK(std::get<RunOptions>(command).scenario == "--json");
}

}  // namespace tsim::cli
