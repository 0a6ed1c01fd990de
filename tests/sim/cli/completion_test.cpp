// The shell completion offers what the program takes: no more, no less.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/cli/options.hpp"

namespace tsim::cli {
namespace {

using Words = std::set<std::string>;

/// What bash offers for the last of `words` ("" for a new one). `tsim` itself prints `names`.
Words offered(const std::vector<std::string>& words, const std::string& names = "") {
  std::string script = "cd '" TSIM_SOURCE_DIR "'; compopt() { :; }; source completions/tsim.bash; ";
  script += "program() { echo \"" + names + "\"; }; COMP_WORDS=(program";
  for (const std::string& word : words) { script += " \"" + word + "\""; }
  script += "); COMP_CWORD=" + std::to_string(words.size()) +
            "; _tsim; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
  std::string quoted;
  for (const char c : script) { quoted += c == '\'' ? std::string("'\\''") : std::string(1, c); }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash -c '" + quoted + "'").c_str(), "r"),
                                                   pclose);
  REQUIRE(pipe != nullptr);
  Words found;
  std::array<char, 1024> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::string word = line.data();
    if (word.ends_with('\n')) { word.pop_back(); }
    if (!word.empty()) { found.insert(word); }
  }
  return found;
}

Words options_of(const std::string& subcommand) {
  Words options;
  for (const OptionName& name : option_names()) {
    if (name.subcommand == subcommand && !name.option.empty()) { options.insert(name.option); }
  }
  return options;
}

Words subcommands() {
  Words words;
  for (const OptionName& name : option_names()) {
    if (!name.subcommand.empty()) { words.insert(name.subcommand); }
  }
  return words;
}

}  // namespace

TEST_CASE("bash completes the commands") { CHECK(offered({""}) == subcommands()); }

TEST_CASE("bash completes the program's own options") { CHECK(offered({"--"}) == options_of("")); }

TEST_CASE("bash completes all options of every command") {
  for (const std::string& subcommand : subcommands()) {
    CAPTURE(subcommand);
    CHECK(offered({subcommand, "--"}) == options_of(subcommand));
  }
}

TEST_CASE("bash completes scenario files after run") {
  CHECK(offered({"run", "scenarios/bert_4mlu.j"}) == Words{"scenarios/bert_4mlu.json"});
}

TEST_CASE("bash completes models and devices with the names that the program lists") {
  CHECK(offered({"explain", "bert"}, "bert-base bert-large gpt2") ==
        Words{"bert-base", "bert-large"});
  CHECK(offered({"explain", "gpt2", "--device", ""}, "mlu270 h200") == Words{"mlu270", "h200"});
}

TEST_CASE("bash completes only values that the program takes") {
  for (const std::string option : {"--dtype", "--fusion"}) {
    const Words values = offered({"explain", "gpt2", option, ""});
    CHECK(values.size() >= 3);
    for (const std::string& value : values) {
      CAPTURE(value);
      CHECK(std::holds_alternative<ExplainOptions>(
          parse_options({"explain", "gpt2", option, value})));
    }
  }
}

}  // namespace tsim::cli
