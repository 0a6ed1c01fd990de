// What the definitions of subcommands share: checks of values, and options that several have.
// CLI11 is known in this folder and in options.cpp only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "sim/cli/options.hpp"

namespace tsim::cli {

/// A subcommand that was added to the program, and what its parsed options ask for.
struct Added {
  CLI::App* app = nullptr;
  std::function<Command()> command;
};

/// The value has to be a whole number from `least` to 10^9.
CLI::Validator count_from(std::int64_t least);
/// The value has to be one of `names`.
CLI::Validator one_of(std::vector<std::string_view> names);
/// The value has to be /json/pointer=value.
CLI::Validator setting();
/// Texts that setting() accepts.
std::vector<Setting> split_settings(const std::vector<std::string>& texts);

/// `--json`
void add_json(CLI::App& command, bool& json);
/// `--set`, which may be given more than once.
void add_settings(CLI::App& command, std::vector<std::string>& settings,
                  const std::string& of_what);

}  // namespace tsim::cli
